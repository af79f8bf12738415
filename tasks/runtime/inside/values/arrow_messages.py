"""The messages of an Arrow stream, looked at before Arrow does: it makes whatever they describe, how often they do.

Many places of a message may name one text, one field or one list of them, and Arrow copies it for each.
"""

import struct
from collections.abc import Iterator

from .flatbuffer import Table, read_root
from .portable import Allowance, NotPortableError

COLUMN_BYTES = 1024
"""What a library holds for a column beside its cells."""
_PAIR_BYTES = 128
"""What Arrow holds for a remark, a key with a value, beside their characters."""

_MARK = 0xFFFFFFFF
"""What every message begins with."""
_PREFIX_BYTES = 8
_MESSAGE_SLOT_KIND, _MESSAGE_SLOT_HEADER, _MESSAGE_SLOT_BODY_BYTES, _MESSAGE_SLOT_REMARKS = 1, 2, 3, 4
_SCHEMA_SLOT_FIELDS, _SCHEMA_SLOT_REMARKS = 1, 2
_FIELD_SLOT_NAME, _FIELD_SLOT_KIND, _FIELD_SLOT_TYPE, _FIELD_SLOT_CHILDREN, _FIELD_SLOT_REMARKS = 0, 2, 3, 5, 6
_TIMESTAMP_SLOT_ZONE = 1
_REMARK_SLOTS = (0, 1)
_DICTIONARY_SLOT_DATA, _DICTIONARY_SLOT_IS_DELTA = 1, 2
_BATCH_SLOT_COMPRESSION = 3
_TIMESTAMP = 10
"""Places and kinds in the tables of Arrow's `Message.fbs` and `Schema.fbs`."""


def check_messages(content: bytes, allowance: Allowance) -> None:
    """Count what the descriptions in a stream would take, its cells left out.

    Raises:
        NotPortableError: That exceeds the allowance, or a message is of a kind that no encoder here writes.
        struct.error: It is no stream.
    """
    for message in _messages(memoryview(content)):
        _take_remarks(message, _MESSAGE_SLOT_REMARKS, allowance)
        kind, header = message.number(_MESSAGE_SLOT_KIND, "<B"), message.table(_MESSAGE_SLOT_HEADER)
        match kind:
            case 1 if header is not None:
                _take_schema(header, allowance)
            case 2 if header is not None:
                if header.number(_DICTIONARY_SLOT_IS_DELTA, "<B"):
                    raise NotPortableError("an Arrow stream that adds to its dictionaries does not travel")
                _check_compression(header.table(_DICTIONARY_SLOT_DATA))
            case 3:
                _check_compression(header)
            case _:
                raise NotPortableError(f"an Arrow stream with a message of kind {kind} does not travel")


def _messages(content: memoryview) -> Iterator[Table]:
    """Go through the messages as Arrow finds them: a mark, the size of the description, that, and a body."""
    position = 0
    while position < len(content):
        mark, size = struct.unpack_from("<Ii", content, position)
        if (mark, size) == (_MARK, 0):
            return
        position += _PREFIX_BYTES
        message = read_root(content[position : position + max(size, 0)])
        body_bytes = message.number(_MESSAGE_SLOT_BODY_BYTES, "<q")
        if mark != _MARK or body_bytes < 0:
            raise NotPortableError("malformed data: not a message of an Arrow stream")
        yield message
        position += size + body_bytes


def _check_compression(batch: Table | None) -> None:
    if batch is not None and batch.table(_BATCH_SLOT_COMPRESSION) is not None:
        raise NotPortableError("a compressed Arrow stream does not travel")


def _take_schema(schema: Table, allowance: Allowance) -> None:
    _take_remarks(schema, _SCHEMA_SLOT_REMARKS, allowance)
    waiting = _take_fields(schema, _SCHEMA_SLOT_FIELDS, allowance)
    while waiting:
        field = waiting.pop()
        allowance.take("the name of a column", field.count(_FIELD_SLOT_NAME))
        _take_remarks(field, _FIELD_SLOT_REMARKS, allowance)
        kind = field.table(_FIELD_SLOT_TYPE)
        if kind is not None and field.number(_FIELD_SLOT_KIND, "<B") == _TIMESTAMP:
            allowance.take("the time zone of a column", kind.count(_TIMESTAMP_SLOT_ZONE))
        waiting += _take_fields(field, _FIELD_SLOT_CHILDREN, allowance)


def _take_fields(parent: Table, slot: int, allowance: Allowance) -> list[Table]:
    """Return the fields that a schema or a field has, counted before any of them is listed."""
    count = parent.count(slot)
    allowance.take(f"a frame of {count} columns", count * COLUMN_BYTES)
    return list(parent.tables(slot))


def _take_remarks(table: Table, slot: int, allowance: Allowance) -> None:
    """Count what a table remarks beside what it says, as pairs of texts."""
    count = table.count(slot)
    allowance.take(f"a frame with {count} remarks", count * _PAIR_BYTES)
    for pair in table.tables(slot):
        allowance.take("a remark of a frame", sum(pair.count(part) for part in _REMARK_SLOTS))
