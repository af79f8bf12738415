"""A look into the FlatBuffers that head Arrow's messages, for what pyarrow does not tell before it acts on it.

Arrow has verified a buffer before it is seen here: every offset in it stays within it.
"""

import struct
from collections.abc import Iterator

_HEADER_SLOT = 2
_OFFSET_BYTES, _SLOT_BYTES = 4, 2


class Table:
    """A table of a buffer: fields by their slots, each there or not."""

    def __init__(self, data: bytes, position: int) -> None:
        self._data = data
        self._position = position

    def size_bytes(self) -> int:
        """Return the size of the whole buffer."""
        return len(self._data)

    def flag(self, slot: int) -> bool:
        """Return a truth value; false where there is none."""
        place = self._place(slot)
        return place is not None and self._data[place] != 0

    def table(self, slot: int) -> "Table | None":
        """Return the table in a field."""
        place = self._place(slot)
        return None if place is None else self._at(place)

    def tables(self, slot: int) -> Iterator["Table"]:
        """Go through the tables of a field that holds a vector of them."""
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


def read_root(data: bytes) -> Table:
    """Return the header of the message that a buffer holds."""
    header = Table(data, struct.unpack_from("<I", data)[0]).table(_HEADER_SLOT)
    if header is None:
        raise ValueError("an Arrow message without a header")
    return header
