"""What an injection binds, and what it brings along, without a sandbox."""

import functools
import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest

from carryover.tasks.runtime.gate import ObjectGate, Prepared
from carryover.tasks.runtime.injecting import Injector
from carryover.tasks.runtime.inside.values.tree import encode
from carryover.tasks.runtime.objects import InjectionError, RetrievalError, UnknownClassError, sealed
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.runtime.tools import ToolTable
from carryover.tasks.runtime.transfer import Fetched
from tests.tasks.runtime import deferred_annotations as deferred


class Base:
    """Stands first."""


class Row(Base):
    """Holds a value."""

    def __init__(self) -> None:
        self.value = 1


def double(number: int) -> int:
    """Double it."""
    return 2 * number


def count() -> Iterator[int]:
    yield 1


@pytest.fixture
def tools() -> ToolTable:
    return ToolTable({"look": lambda: 5}, None, ObjectGate(RuntimeSpec()))


@pytest.fixture
def injector(tools) -> Injector:
    return Injector(tools)


def inject(injector: Injector, name: str, value: Any, **options: Any) -> tuple[Prepared, list[str]]:
    """Prepare and complete an injection; return it with the names that were installed before and after it."""
    installed: list[str] = []

    def install(prepared: Prepared) -> None:
        installed.append(prepared.binding.name)
        injector.injected.append(prepared.entry)

    prepared = injector.prepare(name, value, install, **options)
    injector.injected.append(prepared.entry)
    installed.append(f"<{name}>")
    injector.complete(value, prepared, install)
    return prepared, installed


def test_value_is_bound_and_described(injector):
    prepared, installed = inject(injector, "a", {1}, description="Here.")
    assert prepared.binding.message[:3] == ("bind", "a", False)
    assert (prepared.entry.text, installed) == ("a: set\n    Here.", ["<a>"])
    assert injector.known_names == {"look", "a"}


def test_instance_brings_its_class_and_that_its_base(injector, tools):
    _, installed = inject(injector, "row", Row())
    assert installed == ["Base", "Row", "<row>"]
    assert tools.gate.types == {"Base": Base, "Row": Row}
    assert inject(injector, "other", Row())[1] == ["<other>"]
    made = type("Row", (), {})()
    with pytest.raises(UnknownClassError, match="an instance of Row needs its type first"):
        inject(injector, "third", made)


def test_class_brings_what_comes_before_and_after_it(injector, tools):
    prepared, installed = inject(injector, "Basket", deferred.Basket)
    assert prepared.binding.message[:2] == ("define", "Basket")
    assert installed == ["default", "<Basket>", "Item", "Part"]
    assert {"Basket", "Item", "Part"} == set(tools.gate.types)
    assert inject(injector, "Basket", deferred.Basket)[1] == ["<Basket>"]


@pytest.mark.parametrize(
    ("value", "options", "kind"),
    [
        (double, {}, "tool"),
        (double, {"runs_in": "sandbox"}, "define"),
        (functools.partial(double, 1), {}, "tool"),
        ({1}, {"by": "reference"}, "refer"),
    ],
)
def test_functions_and_references_are_bound_as_asked(injector, value, options, kind):
    name = "double" if kind != "refer" else "found"
    prepared, _ = inject(injector, name, value, **options)
    assert prepared.binding.message[:2] == (kind, name)
    assert prepared.entry.kind == ("variable" if kind == "refer" else "function")


def test_callable_goes_as_data_where_the_caller_says_so(injector):
    with pytest.raises(InjectionError, match="a value of type function does not travel"):
        inject(injector, "double", double, by="value")


def test_reference_allows_what_is_named(injector, tools):
    prepared, _ = inject(injector, "row", Row(), by="reference", allow=["value", "add"])
    assert prepared.binding.message[-1] == ["add", "value"]
    assert tools.gate.references.find("row.value").call([], {}, None) == 1
    prepared, _ = inject(injector, "free", Row(), by="reference")
    assert prepared.binding.message[-1] is None
    with pytest.raises(InjectionError, match=r"^kind: a type does not travel, by value or by reference$"):
        inject(injector, "kind", Row, by="reference")


async def stream() -> Any:
    yield 1


@pytest.mark.parametrize("function", [count, stream])
def test_generator_function_names_the_way_out(injector, function):
    with pytest.raises(InjectionError) as raised:
        inject(injector, "count", function)
    way_out = 'return a list, or inject it by="reference"'
    assert str(raised.value) == f"count: what a generator function returns does not travel; {way_out}"


def test_connection_is_no_function(injector):
    with pytest.raises(InjectionError, match='inject it by="reference"'):
        inject(injector, "database", sqlite3.connect(":memory:"))


@pytest.mark.parametrize("name", ["a b", "class", "__a"])
def test_invalid_name_is_refused(injector, name):
    for value, options in ((1, {}), (double, {}), (Row, {}), (Row(), {"by": "reference"})):
        with pytest.raises(InjectionError, match="is not a valid name"):
            inject(injector, name, value, **options)
    with pytest.raises(InjectionError, match="is not a valid name"):
        injector.prepare_tool(name, double)


def test_tool_is_bound_with_its_documentation(injector, tools):
    assert injector.prepare_tool("double", double).message == (
        "tool", "double", "double(number: int) -> int\n\nDouble it.",
    )  # fmt: skip
    assert tools.tools["double"].takes_objects


def test_value_that_comes_back_may_be_the_host_s_object(tools):
    row = Row()
    tools.gate.share("row", row, None)
    encoded = encode([row, 1], {}, tools.gate.references.standing_for)
    blob = bytearray(encoded.size)
    encoded.write(memoryview(blob))
    found = tools.gate.read("a", Fetched(sealed(blob), ()))
    assert found[0] is row
    assert found[1] == 1
    gone = ToolTable({}, None)
    with pytest.raises(RetrievalError, match="a: 'row' refers to nothing that the host holds; inject it again"):
        gone.gate.read("a", Fetched(sealed(blob), ()))
