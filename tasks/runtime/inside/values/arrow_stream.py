"""A table out of Arrow's stream format, whose writer is not trusted: nothing grows before its size is known.

Without compression and added dictionaries a table lies within its stream. What it grows to when a library makes a
frame of it follows from types and counts, which are those that an encoder here writes.
"""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from .arrow_messages import COLUMN_BYTES, check_messages
from .portable import Allowance, NotPortableError

_POINTER_BYTES = 8
_VIEW_BYTES = 16
"""A text in a frame of texts, beside its characters."""
_OBJECT_BYTES = 128
"""A cell that pandas holds as an object of Python's, beside its content."""


def read_table(content: bytes, library: str, allowance: Allowance) -> pa.Table:
    """Return the table in a stream, every buffer checked, for a frame of `library`'s.

    Raises:
        NotPortableError: It holds what no encoder here writes, or the frame would exceed the allowance.
    """
    check_messages(content, allowance)
    reader = pa.ipc.open_stream(content)
    for field in reader.schema:
        _check_type(field.name, field.type)
    batches = []
    counted: set[int] = set()
    for batch in reader:
        batch.validate()
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            allowance.take(f"column {name!r:.100}", _size(column, library, counted))
        batches.append(batch)
    table = pa.Table.from_batches(batches, reader.schema)
    table.validate(full=True)
    return table.replace_schema_metadata(None)


def _check_type(name: str, kind: pa.DataType) -> None:
    if isinstance(kind, pa.BaseExtensionType):
        return _check_type(name, kind.storage_type)
    if pa.types.is_dictionary(kind):
        if _is_flat(kind.value_type) or _is_text(kind.value_type):
            return None
    elif _is_leaf(kind):
        return None
    elif _is_nested(kind):
        for child in _child_types(kind):
            _check_type(name, child)
        return None
    raise NotPortableError(f"column {name!r:.100} of Arrow type {kind!s:.100} does not travel")


def _child_types(kind: Any) -> Iterator[pa.DataType]:
    return (kind.field(index).type for index in range(kind.num_fields))


def _is_flat(kind: pa.DataType) -> bool:
    """Tell whether its cells are numbers in one buffer."""
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    return is_number or pa.types.is_timestamp(kind) or pa.types.is_duration(kind)


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _is_leaf(kind: pa.DataType) -> bool:
    is_time = pa.types.is_date(kind) or pa.types.is_time(kind) or pa.types.is_decimal128(kind)
    is_binary = pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)
    is_pointer = pa.types.is_null(kind) or pa.types.is_boolean(kind)
    return _is_flat(kind) or _is_text(kind) or is_time or is_binary or is_pointer


def _is_nested(kind: pa.DataType) -> bool:
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    return is_list or pa.types.is_struct(kind) or pa.types.is_map(kind)


def _is_list_of_numbers(kind: Any) -> bool:
    return _is_nested(kind) and not (pa.types.is_struct(kind) or pa.types.is_map(kind)) and _is_flat(kind.value_type)


def _size(  # noqa: PLR0911 - one kind per line
    array: Any, library: str, counted: set[int], *, is_object: bool = False
) -> int:
    """Return about how many bytes the library takes for an array; dictionaries of `counted` addresses are in already.

    With `is_object` its cells become objects of Python's, whatever their type, as most within lists and structs do.
    """
    kind, rows = array.type, len(array)
    if isinstance(kind, pa.BaseExtensionType):
        return _size(array.storage, library, counted, is_object=is_object)
    objects = rows * (_OBJECT_BYTES if library == "pandas" else _POINTER_BYTES)
    if pa.types.is_dictionary(kind):
        entries = _dictionary_size(array.dictionary, counted)
        return COLUMN_BYTES + entries + (rows * array.dictionary.nbytes + objects if is_object else rows * _VIEW_BYTES)
    if _is_nested(kind):
        is_apart = is_object or (library == "pandas" and not _is_list_of_numbers(kind))
        children = sum(_size(child, library, counted, is_object=is_apart) for child in _children(array))
        return COLUMN_BYTES + objects + children
    if pa.types.is_null(kind) or pa.types.is_boolean(kind):
        return COLUMN_BYTES + rows * _POINTER_BYTES
    if is_object or not (_is_flat(kind) or _is_text(kind)):
        return COLUMN_BYTES + array.nbytes + objects
    if _is_text(kind):
        return COLUMN_BYTES + array.nbytes + rows * _VIEW_BYTES
    return COLUMN_BYTES + max(array.nbytes, rows * _POINTER_BYTES if array.null_count else 0)


def _children(array: Any) -> Iterator[Any]:
    if pa.types.is_struct(array.type):
        return (array.field(index) for index in range(array.type.num_fields))
    if pa.types.is_map(array.type):
        return iter((array.keys, array.items))
    return iter((array.values,))


def _dictionary_size(dictionary: Any, counted: set[int]) -> int:
    """Return what a dictionary's entries take, once for all the batches that share it."""
    address = max((buffer.address for buffer in dictionary.buffers() if buffer is not None), default=0)
    if address in counted:
        return 0
    counted.add(address)
    return dictionary.nbytes + len(dictionary) * _OBJECT_BYTES
