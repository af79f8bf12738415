"""A class is described by its head, its documentation and its members."""

import enum
import functools

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
