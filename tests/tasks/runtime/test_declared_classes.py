"""A class comes with what its statement uses of its module, and with nothing else of it."""

import enum
from typing import Any

import pytest

from carryover.tasks.runtime.objects import InjectionError
from tests.tasks.runtime import declared_classes as declared

VALUES = {
    "enum default": (declared.Order(), "Order().level.name, Order().limit", "('HIGH', 10)"),
    "union of models": (declared.Owner(pet=declared.Cat()), "Owner(pet={'kind': 'dog'}).pet.kind", "'dog'"),
    "later model": (
        declared.Owner(pet=declared.Cat(), home=declared.Home()),
        "Owner(pet=value.pet, home={}).home.owners",
        "[]",
    ),
    "generic model's subclass": (declared.Numbers(items=[1]), "Numbers(items=['2']).items", "[2]"),
    "bare generic model": (declared.Page(items=[1]), "Page[int](items=['2']).items", "[2]"),
    "root model": (declared.Rows([1]), "Rows(['2']).root", "[2]"),
    "generic dataclass": (declared.Box(3), "Box(4).item", "4"),
    "decorator and metaclass": (declared.Marked(), "value.tag, type(type(value)).__name__", "('tagged', 'Registered')"),
    "nested class": (declared.Car(), "value.colour is Car.Colour.RED", "True"),
    "nested class alone": (declared.Car.Colour.RED, "value is Car.Colour.RED", "True"),
    "subclass of a named tuple": (declared.Corner(2), "value.doubled(), Corner(1).y", "(4, 0)"),
    "named tuple in the bases": (declared.Span(1), "value.length", "4"),
}


@pytest.mark.parametrize(("value", "code", "expected"), VALUES.values(), ids=VALUES)
def test_class_brings_what_its_statement_uses(open_one: Any, value: Any, code: str, expected: str):
    interpreter = open_one("persistent")
    interpreter.inject("value", value)
    result = interpreter.run_block(code)
    assert (result.error, result.result) == (None, expected)
    back = interpreter.retrieve("value")
    assert type(back) is type(value)
    assert _state(back) == _state(value)


@pytest.mark.parametrize("kind", [declared.Order, declared.Owner, declared.Numbers, declared.Marked])
def test_injected_class_brings_the_same(open_one: Any, kind: type):
    interpreter = open_one("persistent")
    interpreter.inject(kind.__name__, kind)
    assert interpreter.run_block(f"{kind.__name__}.__name__").error is None
    if kind is declared.Owner:
        assert interpreter.run_block("Owner(pet={'kind': 'cat'}, home={}).home.owners").result == "[]"


def test_several_values_bring_what_one_brings(open_one: Any):
    interpreter = open_one("persistent")
    interpreter.inject_all({"Owner": declared.Owner, "level": declared.Level.HIGH})
    assert interpreter.run_block("Owner(pet={'kind': 'cat'}, home={}).home.owners, level is Level.HIGH").result == (
        "([], True)"
    )
    interpreter.run_block("mine = Owner(pet={'kind': 'dog'})")
    assert interpreter.retrieve("mine") == declared.Owner(pet=declared.Dog())


def test_class_that_cannot_be_defined_is_refused_each_time(open_one: Any):
    interpreter = open_one("persistent")
    for _ in range(2):
        with pytest.raises(InjectionError, match="no such option"):
            interpreter.inject("value", declared.Hosted())


def test_what_only_methods_use_stays_on_the_host(open_one: Any):
    interpreter = open_one("persistent")
    interpreter.inject("order", declared.Order())
    assert interpreter.run_block("order.is_secret('x')").error.message.endswith("name 'SECRET' is not defined")
    assert declared.SECRET not in repr([binding.message for binding in interpreter.bindings])


def test_instance_of_a_parametrised_class_is_refused_with_the_way_out(open_one: Any):
    with pytest.raises(InjectionError, match=r"give the class a name: class Name\(Page\[int\]\)"):
        open_one("persistent").inject("page", declared.Page[int](items=[1]))


def test_named_tuple_with_other_attributes_is_refused(open_one: Any):
    span = declared.Span(1)
    span.__dict__["note"] = "lost otherwise"
    with pytest.raises(InjectionError, match="a Span with attributes beside its fields does not travel"):
        open_one("persistent").inject("span", span)


@pytest.mark.parametrize(
    ("kind", "name"), [(declared.Worded, "WORDS"), (declared.Long, "DIGITS"), (declared.Endless, "LOOP")]
)
def test_constant_that_no_text_repeats_is_refused(open_one: Any, kind: type, name: str):
    with pytest.raises(InjectionError, match=f"its source uses {name}, which the sandbox lacks"):
        open_one("persistent").inject(kind.__name__, kind)


def test_function_of_a_class_runs_in_the_sandbox(open_one: Any):
    interpreter = open_one("persistent")
    interpreter.inject("twice", declared.Shape.twice, runs_in="sandbox")
    assert interpreter.run_block("twice(2)").result == "4"


def test_class_within_a_local_class_is_injected(open_one: Any):
    class Order:
        class Status(enum.Enum):
            OPEN = 1

    interpreter = open_one("persistent")
    interpreter.inject("Status", Order.Status)
    assert interpreter.run_block("Status.OPEN.value").result == "1"


def test_error_of_a_statement_is_named_whole(open_one: Any):
    with pytest.raises(InjectionError, match="NameError: no host here"):
        open_one("persistent").inject("HostOnly", declared.HostOnly)


def test_definition_that_lacks_a_name_is_refused_with_the_way_out(open_one: Any):
    registry = object()

    class Listed:
        def __init__(self, place: Any = registry) -> None:
            self.place = None

    with pytest.raises(InjectionError, match="its source uses registry, which the sandbox lacks; inject that first"):
        open_one("persistent").inject("Listed", Listed)


def _state(value: Any) -> Any:
    """Return what tells an instance's content, for classes without an equality of their own too."""
    return repr(getattr(value, "__dict__", value))
