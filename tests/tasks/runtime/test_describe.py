"""A class is described by its head, its documentation and its members."""

import enum
import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from carryover.tasks.runtime.describe import describe


class Room:
    """A room."""

    width: int
    label: "str | None"
    DOORS = 2

    def paint(self, colour: str) -> None:
        """Paint it.

        Twice.
        """

    @property
    def area(self) -> float:
        """Its area."""
        return 1.0

    @functools.cached_property
    def unknown(self):
        return None

    @staticmethod
    def find(name) -> int:
        return len(name)

    def _hidden(self):
        return None


class Side(enum.Enum):
    LEFT = 1
    RIGHT = 2

    @property
    def other(self) -> "Side":
        return self


def test_a_class_is_told_by_its_public_members():
    told = describe("Room", Room, "Where one is.")
    assert (told.name, told.kind, told.description) == ("Room", "type", "Where one is.")
    assert told.text.splitlines() == [
        "class Room",
        "    Where one is.",
        "    A room.",
        "    width: int",
        "    label: str | None",
        "    def paint(self, colour: str) -> None",
        "        Paint it.",
        "    area: float",
        "        Its area.",
        "    unknown",
        "    def find(name) -> int",
    ]


def test_an_enumeration_is_told_by_its_members():
    lines = describe("Side", Side, "").text.splitlines()
    assert lines[0] == "class Side"
    assert lines[-3:] == ["    LEFT", "    RIGHT", "    other: Side"]


class Adder:
    """Adds."""

    def __call__(self, number: int) -> int:
        return number + 1


def test_a_callable_object_may_be_data():
    assert describe("add", Adder(), "").kind == "function"
    as_data = describe("add", Adder(), "", is_data=True)
    assert (as_data.kind, "def " in as_data.text) == ("variable", False)


@dataclass
class Point:
    x: int
    y: "float" = 1.0
    label = "no field"

    @classmethod
    def origin(cls) -> "Point":
        return cls(0)


class Plain:
    def __init__(self) -> None:
        self.a = 1


def double(number: int, *, factor: float = 2.0) -> float:
    """Multiply it.

    By two.
    """
    return number * factor


SIGNATURE = "(number: int, *, factor: float = 2.0) -> float"


def bare(number):
    return number


@pytest.mark.parametrize(
    ("value", "description", "text"),
    [
        (Point, "", "class v\n    x: int\n    y: float\n    def origin(cls) -> 'Point'"),
        (Plain, "", "class v"),
        (double, "", f"def v{SIGNATURE}\n    Multiply it.\n\n    By two."),
        (double, "Here.", f"def v{SIGNATURE}\n    Here.\n    Multiply it.\n\n    By two."),
        (bare, "", "def v(number)"),
        (5, "A number.\n\nOf items.", "v: int\n    A number.\n\n    Of items."),
        (5, "", "v: int"),
        (np.zeros(2), "", "v: numpy.ndarray"),
        (np.random.default_rng(1), "", "v: numpy.Generator"),
        (type("Main", (), {"__module__": "__main__"})(), "", "v: Main"),
    ],
)
def test_entry_of_a_prompt_is_whole(value, description, text):
    kind = "type" if isinstance(value, type) else "function" if callable(value) else "variable"
    assert describe("v", value, description) == ("v", kind, description, text)


class Unsigned:
    """Has no signature."""

    @property
    def __signature__(self) -> Any:
        raise ValueError("none")

    def __call__(self) -> None:
        """Do nothing."""


class Unknown:
    __signature__ = 5

    def __call__(self) -> None:
        """Do nothing."""


@pytest.mark.parametrize("function", [Unsigned(), Unknown(), max])
def test_function_without_a_signature_takes_anything(function):
    assert describe("v", function, "").text.startswith("def v(*arguments, **keywords)")


class Properties:
    @functools.cached_property
    def kept(self) -> int:
        """Is kept."""
        return 1

    @property
    def union(self) -> int | None:
        return 1


def test_properties_are_told_with_their_types():
    assert describe("v", Properties, "").text == "class v\n    kept: int\n        Is kept.\n    union: int | None"
