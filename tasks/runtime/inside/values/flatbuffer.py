"""A look into the FlatBuffers that head Arrow's messages, for what Arrow does not tell before it acts on it.

Nobody has verified a buffer that is looked into here: an offset that leaves it is an error of `struct`'s.
"""

import struct
from collections.abc import Iterator

_OFFSET_BYTES, _SLOT_BYTES = 4, 2


class Table:
    """A table of a buffer: fields by their slots, each there or not."""

    def __init__(self, data: memoryview, position: int) -> None:
        self._data = data
        self._position = position

    def number(self, slot: int, form: str) -> int:
        """Return a number of the form that `struct` names so; 0 where there is none."""
        place = self._place(slot)
        return 0 if place is None else self._number(form, place)

    def table(self, slot: int) -> "Table | None":
        """Return the table in a field."""
        place = self._place(slot)
        return None if place is None else self._at(place)

    def count(self, slot: int) -> int:
        """Return how many elements a field's vector says it has, or bytes its text; 0 where there is none."""
        place = self._place(slot)
        return 0 if place is None else self._number("<I", place + self._number("<I", place))

    def tables(self, slot: int) -> Iterator["Table"]:
        """Go through the tables of a field that holds a vector of them; ask for their count before."""
        place = self._place(slot)
        if place is None:
            return
        start = place + self._number("<I", place)
        for index in range(self._number("<I", start)):
            yield self._at(start + _OFFSET_BYTES * (index + 1))

    def _place(self, slot: int) -> int | None:
        layout = self._position - self._number("<i", self._position)
        entry = 2 * _SLOT_BYTES + _SLOT_BYTES * slot
        if entry >= self._number("<H", layout):
            return None
        offset = self._number("<H", layout + entry)
        return self._position + offset if offset else None

    def _at(self, place: int) -> "Table":
        return Table(self._data, place + self._number("<I", place))

    def _number(self, form: str, position: int) -> int:
        return struct.unpack_from(form, self._data, position)[0]


def read_root(data: memoryview) -> Table:
    """Return the table that a buffer begins with."""
    return Table(data, struct.unpack_from("<I", data)[0])
