"""Instances of classes: state without code, of the reader's own class, as a record, or refused."""

import collections
import decimal
import difflib
import enum
import random
import re
import sys
import types
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from pydantic import BaseModel, PrivateAttr

from carryover.tasks.runtime.inside.values import instances, plain
from carryover.tasks.runtime.inside.values.plain import Record
from carryover.tasks.runtime.inside.values.portable import MissingTypeError, NotPortableError, Reference
from carryover.tasks.runtime.inside.values.tree import decode, encode, is_data
from tests.tasks.runtime.inside.values.travelling import forged, travelled


class Attributes:  # noqa: PLW1641
    """Has what is given; equal to one that has the same."""

    def __init__(self, **given: Any) -> None:
        for name, value in given.items():
            setattr(self, name, value)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and instances.state_of(other) == instances.state_of(self)


class Slotted:  # noqa: PLW1641
    __slots__ = ("a", "b")

    def __init__(self, a: int) -> None:
        self.a = a

    def __eq__(self, other: object) -> bool:
        return type(other) is Slotted and other.a == self.a


@dataclass
class Point:
    x: int
    y: list[int] = field(default_factory=list)
    unit: ClassVar[str] = "m"


@dataclass(frozen=True, slots=True)
class Frozen:
    x: int


class Pair(NamedTuple):
    left: int
    right: str


class Labelled(Pair):
    """May have attributes beside its fields."""


class Side(enum.Enum):
    LEFT = 1
    RIGHT = 2


class Rights(enum.Flag):
    READ = 1
    WRITE = 2


class Model(BaseModel):
    count: int
    _hidden: int = PrivateAttr(default=3)


class RefusedError(Exception):
    pass


class Number(int):
    pass


class Price(decimal.Decimal):
    pass


class Ratio(float):
    pass


class GuardedError(ValueError):
    """An error of the user's that no one but its own code may make."""

    def __new__(cls, *_arguments: Any) -> "GuardedError":
        raise AssertionError("code of the user's ran")


class Dice(random.Random):
    pass


class Borrowing:
    """Holds a function that is written in C."""

    upper = str.upper


def known(*kinds: type) -> dict[str, type]:
    return {kind.__name__: kind for kind in kinds}


STATE = {"__dict__": {"count": 2}, "__pydantic_fields_set__": {"count"}, "__pydantic_extra__": None}
INSTANCES: list[tuple[Any, dict[str, Any]]] = [
    (Attributes(a=1, b=[2]), {"a": 1, "b": [2]}),
    (Slotted(3), {"a": 3}),
    (Point(1, [2]), {"x": 1, "y": [2]}),
    (Frozen(1), {"x": 1}),
    (Pair(1, "b"), {"left": 1, "right": "b"}),
    (Labelled(1, "b"), {"left": 1, "right": "b"}),
    (Side.RIGHT, {"name": "RIGHT", "value": 2}),
    (Rights.READ | Rights.WRITE, {"name": None, "value": 3}),
    (Model(count=2), {"count": 2}),
]


@pytest.mark.parametrize(("value", "fields"), INSTANCES, ids=lambda value: type(value).__name__)
def test_instance_arrives_as_its_own_class_or_as_a_record(value, fields):
    kind = type(value)
    back = travelled([value], known(kind))[0]
    assert (type(back), back) == (kind, value)
    record = travelled([value])[0]
    assert (type(record), record) == (Record, Record(kind.__name__, fields))


@pytest.mark.parametrize(("value", "_fields"), INSTANCES, ids=lambda value: type(value).__name__)
def test_instance_of_a_class_that_the_reader_lacks_is_refused(value, _fields):
    kind = type(value)
    for types_of_reader in ({}, {kind.__name__: Attributes if kind is not Attributes else Point}):
        with pytest.raises(
            MissingTypeError, match=f"an instance of {kind.__name__} needs its type first: inject"
        ) as told:
            encode([value], types_of_reader)
        assert told.value.kind is kind
    encoded = encode([value])
    blob = memoryview(bytearray(encoded.size))
    encoded.write(blob)
    with pytest.raises(NotPortableError, match=f"^an instance of {kind.__name__} needs its type first: inject"):
        decode(blob, {}, makes_records=False)


def test_model_keeps_private_values_and_fields_that_were_set():
    model = Model(count=2)
    model._hidden = 5
    back = travelled(model, known(Model))
    assert (back, back._hidden, back.model_fields_set) == (model, 5, {"count"})


def test_unlike_instances_of_one_class_refer_to_one_value():
    shared = [1]
    back = travelled([Attributes(a=shared), Attributes(a=shared)], known(Attributes))
    assert back[0].a is back[1].a


MODEL_NAMES = ["__dict__", "__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__"]
NAMES_OF_STATE: list[tuple[type, list[Any], bool]] = [
    (Attributes, [], True),
    (Attributes, ["a", "_b", "__c", "d__"], True),
    (Attributes, ["a", "a"], False),
    (Attributes, ["__class__"], False),
    (Attributes, [5], False),
    (Point, ["x", "y"], True),
    (Point, ["y", "x", "more"], True),
    (Point, ["x"], False),
    (Model, MODEL_NAMES, True),
    (Model, MODEL_NAMES[:3], False),
    (Model, ["count"], False),
    (Number, ["a"], False),
]


@pytest.mark.parametrize(("kind", "names", "fits"), NAMES_OF_STATE)
def test_state_fits_a_class_by_its_names(kind, names, fits):
    parts = [kind.__name__]
    for name in names:
        parts += [name, 1]
    assert plain.CLASSES["class.record"](kind, parts) is fits


@pytest.mark.parametrize(
    ("tag", "kind", "parts", "fits"),
    [
        ("class.named_tuple", Pair, ["Pair", "left", 1, "right", 2], True),
        ("class.named_tuple", Pair, ["Pair", "right", 1, "left", 2], False),
        ("class.named_tuple", Pair, ["Pair", "left", 1], False),
        ("class.named_tuple", Point, ["Point"], False),
        ("class.named_tuple", tuple, ["tuple"], True),
        ("class.exception", RefusedError, ["RefusedError", [], {}], True),
        ("class.exception", Point, ["Point", [], {}], False),
        ("class.member", Side, ["Side", "LEFT", 1], True),
        ("class.member", Side, ["Side", "UP", 1], False),
        ("class.member", Rights, ["Rights", None, 3], True),
        ("class.member", Point, ["Point", None, 3], False),
    ],
)
def test_parts_fit_a_class_of_their_kind(tag, kind, parts, fits):
    assert plain.CLASSES[tag](kind, parts) is fits


def test_parts_of_another_class_become_a_record():
    sent = forged([0], [["class.record", ["Point", "z", 1]]])
    assert decode(sent, known(Point)) == Record("Point", {"z": 1})


@pytest.mark.parametrize(
    ("kind", "types_of_reader", "expected"),
    [
        (int, {}, True),
        (np.ndarray, {}, True),
        (type(_ for _ in ()), {}, False),
        (Point, known(Point), True),
        (Point, {}, False),
        (Point, {"Point": Frozen}, False),
        (Attributes, known(Attributes), False),
        (Side, known(Side), True),
        (Pair, known(Pair), True),
        (Pair, {}, False),
    ],
)
def test_declared_classes_that_the_reader_knows_are_data(kind, types_of_reader, expected):
    assert is_data(kind, types_of_reader) is expected


def test_data_is_declared_by_a_class_itself():
    marked = type("Marked", (), {"__attrs_attrs__": ()})
    derived = type("Derived", (Point,), {})
    assert [plain.declares_data(kind) for kind in (Point, Model, marked)] == [True] * 3
    assert [plain.declares_data(kind) for kind in (Attributes, Side, derived)] == [False] * 3


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (Number(1), "a value of type Number does not travel; convert it to int first"),
        (Ratio(1), "a value of type Ratio does not travel; convert it to float first"),
        (Price(1), "a value of type Price does not travel; convert it to Decimal first"),
        (type("Names", (list,), {})(), "a value of type Names does not travel; convert it to list first"),
        (Dice(), "a value of type Dice does not travel; send plain data"),
        (Borrowing(), "a value of type Borrowing does not travel; send plain data"),
        (tuple.__new__(Pair, (1,)), "a value of type Pair does not travel: zip"),
    ],
)
def test_instance_that_is_more_than_its_state_is_refused(value, message):
    with pytest.raises(NotPortableError, match=message):
        encode([value])


def test_classes_of_a_library_travel_by_their_declared_fields():
    match = difflib.Match(1, 2, 3)
    assert travelled(match, known(difflib.Match)) == match
    assert travelled([match]) == [Record("Match", {"a": 1, "b": 2, "size": 3})]
    place = {"__module__": "json", "__annotations__": {"x": int}}
    model = type("LibraryModel", (BaseModel,), {**place, "__qualname__": "LibraryModel"})
    data = dataclass(type("LibraryData", (), place))
    for kind in (model, data):
        assert travelled(kind(x=1), known(kind)) == kind(x=1)
    with pytest.raises(NotPortableError, match="a value of type LibraryPlain does not travel"):
        encode(type("LibraryPlain", (), {"__module__": "json"})())


def test_exception_arrives_without_running_its_constructor():
    error = ValueError.__new__(GuardedError, 1)
    back = travelled(error, known(GuardedError))
    assert (type(back), back.args) == (GuardedError, (1,))


def test_named_tuple_with_attributes_is_refused():
    labelled: Any = Labelled(1, "b")
    labelled.label = "c"
    with pytest.raises(NotPortableError, match="a Labelled with attributes beside its fields does not travel"):
        encode(labelled)


def test_only_classes_in_python_are_ordinary():
    assert all(map(instances.is_ordinary, (Attributes, Slotted, Point, Frozen)))
    others = (object, int, Number, Dice, Borrowing, re.Match)
    assert [instances.is_ordinary(kind) for kind in others] == [False] * len(others)
    assert not instances._is_python(pa.ResizableBuffer), "a class in C, without a function of its own"


def test_users_classes_are_those_of_no_library():
    nameless = type("Nameless", (), {"__module__": 5})
    kinds = (Attributes, collections.OrderedDict, np.ndarray, nameless, type("Main", (), {"__module__": "__main__"}))
    assert [instances.is_users(kind) for kind in kinds] == [True, False, False, False, True]


def test_library_is_what_python_brings_or_what_is_installed(monkeypatch):
    installed = "/usr/lib/python3/dist-packages/made.py"
    for name, place in (("debian_like", installed), ("spaced", None), ("carryover.installed", installed)):
        module = types.ModuleType(name)
        module.__file__ = place
        monkeypatch.setitem(sys.modules, name, module)
    assert all(map(instances.is_library, ("json", "json.decoder", "numpy", "numpy.linalg", "debian_like")))
    assert not any(
        map(instances.is_library, ("__main__", "carryover.tasks", "carryover.installed", "spaced", "nowhere", __name__))
    )


class Base:
    __slots__ = ("a", "b")


class Redeclaring(Base):
    __slots__ = ("a",)


def test_slot_that_a_subclass_declares_again_is_the_subclass_s():
    value: Any = object.__new__(Redeclaring)
    instances.write_state(value, {"a": 1, "b": 2})
    assert (value.a, value.b) == (1, 2)
    with pytest.raises(AttributeError):
        Base.__dict__["a"].__get__(value)
    assert instances.state_of(value) == {"a": 1, "b": 2}
    with pytest.raises(TypeError, match="an instance of Redeclaring has no attributes beside its slots"):
        instances.write_state(value, {"c": 3})


def test_reference_needs_one_who_reads_it():
    class Stub(Reference):
        __slots__ = ()

    sent = encode([Stub("table")], {})
    blob = memoryview(bytearray(sent.size))
    sent.write(blob)
    with pytest.raises(NotPortableError, match="a reference to an object of the host's cannot be read here"):
        decode(blob, {})
    assert decode(blob, {}, refer=lambda *said: said) == [("table",)]


def test_writer_may_let_a_reference_stand_for_a_value():
    stays = Attributes()
    sent = encode([stays, 1], {}, lambda value: ["table", "Table", "a text"] if value is stays else None)
    blob = memoryview(bytearray(sent.size))
    sent.write(blob)
    assert decode(blob, {}, refer=lambda *said: said) == [("table", "Table", "a text"), 1]
