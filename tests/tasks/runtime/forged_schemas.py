"""Arrow streams whose schema says one thing in many places, written by hand."""

import struct
from collections.abc import Callable

COUNT, TEXT = 2_000, b"x" * 200_000
NULL, TIMESTAMP, STRUCT = 1, 10, 13
"""Kinds of columns in Arrow's `Schema.fbs`; the slots of its tables are numbers here."""


class Writer:
    """Writes a FlatBuffer front to back; a place that is to lead somewhere is filled in when that is written."""

    def __init__(self) -> None:
        self.data = bytearray(8)

    def table(self, numbers: dict[int, tuple[str, int]], references: tuple[int, ...]) -> tuple[int, dict[int, int]]:
        """Return where a table lies, and by slot the places of its references."""
        contents = {slot: struct.pack(f"<{form}", number) for slot, (form, number) in numbers.items()}
        contents |= dict.fromkeys(references, b"")
        slots = sorted(contents)
        offsets = {slot: 8 + 8 * index for index, slot in enumerate(slots)}
        layout = [offsets.get(slot, 0) for slot in range(max(slots, default=-1) + 1)]
        self._align()
        start = len(self.data)
        self.data += struct.pack(f"<HH{len(layout)}H", 4 + 2 * len(layout), 8 + 8 * len(slots), *layout)
        self._align()
        position = len(self.data)
        self.data += struct.pack("<i4x", position - start)
        self.data += b"".join(contents[slot].ljust(8, b"\0") for slot in slots)
        return position, {slot: position + offsets[slot] for slot in references}

    def text(self, content: bytes) -> int:
        self._align()
        self.data += struct.pack("<I", len(content)) + content + b"\0"
        return len(self.data) - len(content) - 5

    def vector(self, count: int) -> tuple[int, list[int]]:
        """Return where a vector lies, and the places of its references."""
        self._align()
        position = len(self.data)
        self.data += struct.pack("<I", count) + bytes(4 * count)
        return position, [position + 4 * number for number in range(1, count + 1)]

    def lead(self, place: int, target: int) -> None:
        struct.pack_into("<I", self.data, place, target - place)

    def stream(self) -> bytes:
        self._align()
        return struct.pack("<Ii", 0xFFFFFFFF, len(self.data)) + bytes(self.data)

    def _align(self) -> None:
        self.data += bytes(-len(self.data) % 8)


def forge(
    *,
    kind: int = NULL,
    column_count: int = 1,
    child_count: int = 0,
    name: bytes = b"a",
    zone: bytes = b"",
    remarks_of: str = "",
) -> bytes:
    """Return a stream without cells: columns that are one, its children one, the remarks on something one."""
    writer = Writer()
    references = {"message": (2, 4), "schema": (1, 2), "column": (0, 3, 5, 6)}
    for owner in references.keys() - {remarks_of}:
        references[owner] = references[owner][:-1]
    message, of_message = writer.table({0: ("h", 4), 1: ("B", 1), 3: ("q", 0)}, references["message"])
    writer.lead(0, message)
    schema, of_schema = writer.table({}, references["schema"])
    writer.lead(of_message[2], schema)
    columns, places = writer.vector(column_count)
    writer.lead(of_schema[1], columns)
    of_column = _column(writer, places, kind, name=name, zone=zone, references=references["column"])
    children, places = writer.vector(child_count)
    writer.lead(of_column[5], children)
    if child_count:
        of_child = _column(writer, places, NULL, name=name, zone=b"", references=(0, 3, 5))
        writer.lead(of_child[5], writer.vector(0)[0])
    place = {"message": of_message.get(4), "schema": of_schema.get(2), "column": of_column.get(6)}.get(remarks_of)
    if place is not None:
        _remarks(writer, place)
    return writer.stream()


def _column(
    writer: Writer, places: list[int], kind: int, *, name: bytes, zone: bytes, references: tuple[int, ...]
) -> dict[int, int]:
    column, of_column = writer.table({2: ("B", kind)}, references)
    for place in places:
        writer.lead(place, column)
    writer.lead(of_column[0], writer.text(name))
    described, of_kind = writer.table({}, (1,) if zone else ())
    writer.lead(of_column[3], described)
    if zone:
        writer.lead(of_kind[1], writer.text(zone))
    return of_column


def _remarks(writer: Writer, place: int) -> None:
    remarks, places = writer.vector(COUNT)
    writer.lead(place, remarks)
    remark, of_remark = writer.table({}, (0, 1))
    text = writer.text(TEXT)
    for part in places:
        writer.lead(part, remark)
    for part in of_remark.values():
        writer.lead(part, text)


FORGED: dict[str, Callable[[], bytes]] = {
    "honest": forge,
    "names": lambda: forge(column_count=COUNT // 4, name=TEXT),
    "zones": lambda: forge(kind=TIMESTAMP, column_count=COUNT // 4, zone=TEXT),
    "columns": lambda: forge(column_count=200_000),
    "children": lambda: forge(kind=STRUCT, column_count=100, child_count=100, name=b"x" * 2_000),
    "remarks on a column": lambda: forge(remarks_of="column"),
    "remarks on the schema": lambda: forge(remarks_of="schema"),
    "remarks on the message": lambda: forge(remarks_of="message"),
}
