"""Values as plain data: a JSON tree of tagged nodes, and buffers for what is large. Both sides use it; nobody pickles.

A node is `["json", value]`, `["text" | "bytes", buffer]`, `["list" | "tuple", nodes]`, `["set" | "frozenset", nodes]`,
`["dict", pairs]`, `["array", dtype, shape, buffer]`, `["frame", library, index, buffer]`,
`["series", library, name, index, buffer]` or `["record", type name, fields]`; `buffer` counts from 0, `index` is false
or holds the name of the index, which is the first column then. What is of a subclass of plain data (a counter, a named
tuple, a member of an `IntEnum`) travels as its base.
"""

import math
import sys
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from .frames import read_frame, write_frame
from .portable import Allowance, NotPortableError

_DEPTH_LIMIT = 100
_TEXT_LIMIT = 1 << 20
"""Characters of a text in JSON; a longer one is a buffer."""
_PLAIN = (type(None), bool, int, float, str)
_AS_BASE: dict[type, Callable[[Any], Any]] = {
    str: str.__str__,
    int: int.__int__,
    float: float.__float__,
    bytes: lambda value: bytes(memoryview(value)),
    bytearray: lambda value: bytes(memoryview(value)),
    list: lambda value: list(list.__iter__(value)),
    tuple: lambda value: tuple(tuple.__iter__(value)),
    set: lambda value: set(set.__iter__(value)),
    frozenset: lambda value: frozenset(frozenset.__iter__(value)),
    OrderedDict: lambda value: dict(OrderedDict.items(value)),
    dict: lambda value: dict(dict.items(value)),
}
"""By the methods of the base, whatever the subclass makes of them."""
_BELOW_FOUR_BYTES, _CONTINUING = bytes(range(0xF0)), bytes(range(0x80, 0xC0))
"""Bytes of UTF-8: those that begin no character of four bytes, and those that begin none at all."""
_LIBRARIES = ("polars", "pandas")
_EQUAL_HASHES_LIMIT = 64
"""Members of a set, or keys, that may share a hash: each is compared with all before it."""

MakeRecord = Callable[[str, dict[str, Any]], Any]
"""From a record's type name and fields to an object."""


def encode(value: Any, buffers: list[Any], depth: int = 0) -> list[Any]:  # noqa: PLR0911 - one form per line
    """Return a value's node, appending to `buffers` what does not belong into JSON.

    Raises:
        NotPortableError: The value, or one inside it, is of a kind that does not travel.
    """
    kind = type(value)
    if kind is str and len(value) > _TEXT_LIMIT:
        return ["text", _add(buffers, value.encode("utf-8", "surrogatepass"))]
    if kind in _PLAIN:
        return ["json", value]
    if depth > _DEPTH_LIMIT:
        raise NotPortableError(f"a value nested deeper than {_DEPTH_LIMIT} levels does not travel")
    if kind in (list, tuple, set, frozenset):
        if kind is list and all(map(_is_short, value)):
            return ["json", value]
        return [kind.__name__, [encode(item, buffers, depth + 1) for item in value]]
    if kind is dict:
        return ["dict", [[encode(item, buffers, depth + 1) for item in pair] for pair in value.items()]]
    if kind in (bytes, bytearray):
        return ["bytes", _add(buffers, value)]
    library, name = _library_type(kind)
    if library == "numpy":
        return _encode_numpy(value, buffers)
    if library in _LIBRARIES and name in ("DataFrame", "Series"):
        return _encode_frame(value, library, name == "Series", buffers)
    fields = kind.__dict__.get("__dataclass_fields__")
    if type(fields) is dict:
        content = {field: encode(object.__getattribute__(value, field), buffers, depth + 1) for field in fields}
        return ["record", kind.__name__, content]
    for base, as_base in _AS_BASE.items():
        if issubclass(kind, base):
            return encode(as_base(value), buffers, depth)
    raise NotPortableError(
        f"a value of type {kind.__name__} does not travel; plain data, NumPy arrays, Polars and pandas frames and "
        "dataclass instances do"
    )


def decode(node: Any, buffers: Sequence[bytes], make_record: MakeRecord, limit_bytes: float = math.inf) -> Any:
    """Return the value behind a node; records are made by `make_record` from type name and fields.

    Raises:
        NotPortableError: The node is malformed, or its arrays and frames would take more than `limit_bytes`.
    """
    try:
        return _Decoder(buffers, make_record, Allowance(limit_bytes)).decode(node)
    except NotPortableError:
        raise
    except Exception as error:  # the writer is not trusted, and libraries answer to what is malformed as they like
        raise NotPortableError(f"malformed data: {type(error).__name__}: {error!s:.500}") from error


class _Decoder:
    """Reads one value; its buffers are read once each, in the order in which they were written."""

    def __init__(self, buffers: Sequence[bytes], make_record: MakeRecord, allowance: Allowance) -> None:
        self._buffers = buffers
        self._make_record = make_record
        self._allowance = allowance
        self._read_count = 0

    def decode(self, node: Any) -> Any:  # noqa: PLR0911 - one form per line
        """Return the value behind a node."""
        match node:
            case ["json", value]:
                return value
            case ["bytes", int(index)]:
                return bytes(self._buffer(index))
            case ["text", int(index)]:
                return self._text(self._buffer(index))
            case ["list", list(items)]:
                return [self.decode(item) for item in items]
            case ["tuple", list(items)]:
                return tuple(self.decode(item) for item in items)
            case ["set", list(items)]:
                return set(self._members(items))
            case ["frozenset", list(items)]:
                return frozenset(self._members(items))
            case ["dict", list(pairs)]:
                read = [(self.decode(key), self.decode(value)) for key, value in pairs]
                _check_hashes([key for key, _ in read])
                return dict(read)
            case ["array", str(dtype), list(shape), int(index)]:
                return _decode_array(dtype, shape, self._buffer(index))
            case ["frame", str(library), False | [str() | None] as index, int(buffer)] if library in _LIBRARIES:
                return self._frame(library, index, buffer)
            case ["series", str(library), name, False | [str() | None] as index, int(buffer)] if library in _LIBRARIES:
                frame = self._frame(library, index, buffer)
                return (frame.to_series(0) if library == "polars" else frame.iloc[:, 0]).rename(name)
            case ["record", str(name), dict(fields)]:
                return self._make_record(name, {field: self.decode(value) for field, value in fields.items()})
        raise NotPortableError(f"malformed data: {node!r:.200}")

    def _members(self, items: list[Any]) -> list[Any]:
        members = [self.decode(item) for item in items]
        _check_hashes(members)
        return members

    def _text(self, content: bytes) -> str:
        width = 1 if content.isascii() else 4 if content.translate(None, _BELOW_FOUR_BYTES) else 2
        self._allowance.take("a text", width * len(content.translate(None, _CONTINUING)))
        return str(content, "utf-8", "surrogatepass")

    def _frame(self, library: str, index: Any, buffer: int) -> Any:
        frame = read_frame(self._buffer(buffer), library, has_index=bool(index), allowance=self._allowance)
        return frame.rename_axis(index[0]) if index else frame

    def _buffer(self, index: int) -> bytes:
        """Return the next buffer; one that many nodes name would become an object for each of them."""
        if index != self._read_count:
            raise NotPortableError(f"malformed data: buffer {index} where {self._read_count} is the next")
        self._read_count += 1
        return self._buffers[index]


def _check_hashes(members: list[Any]) -> None:
    """Refuse what was made to collide: a set of it would cost the square of its size."""
    counts: dict[int, int] = {}
    for member in members:
        value = hash(member)
        counts[value] = count = counts.get(value, 0) + 1
        if count > _EQUAL_HASHES_LIMIT:
            what = f"a set or a dict of {len(members)}"
            raise NotPortableError(f"{what} does not travel in which more than {_EQUAL_HASHES_LIMIT} share a hash")


def _library_type(kind: type) -> tuple[str, str]:
    """Return the library that really defines a type and the type's name; empty for none that travels."""
    for library in ("numpy", *_LIBRARIES):
        module = sys.modules.get(library)
        if module is None:
            continue
        names = ("ndarray", "generic") if library == "numpy" else ("DataFrame", "Series")
        for name in names:
            wanted = getattr(module, name, None)
            if kind is wanted or (name == "generic" and isinstance(wanted, type) and issubclass(kind, wanted)):
                return library, name
    return "", ""


def _is_short(value: Any) -> bool:
    """Tell whether a value stands in JSON as it is."""
    kind = type(value)
    return kind in _PLAIN and (kind is not str or len(value) <= _TEXT_LIMIT)


def _add(buffers: list[Any], content: Any) -> int:
    buffers.append(content)
    return len(buffers) - 1


def _encode_frame(value: Any, library: str, is_series: bool, buffers: list[Any]) -> list[Any]:
    if is_series and type(value.name) not in _PLAIN:
        raise NotPortableError(f"a series whose name is {value.name!r:.200} does not travel; rename it to text")
    content, has_index = write_frame(value, library, is_series=is_series)
    kind = ("series", library, value.name) if is_series else ("frame", library)
    return [*kind, [value.index.name] if has_index else False, _add(buffers, content)]


def _encode_numpy(value: Any, buffers: list[Any]) -> list[Any]:
    import numpy as np

    array = np.ascontiguousarray(value)
    if array.dtype.hasobject or array.dtype.names is not None:
        raise NotPortableError(f"an array of dtype {array.dtype} does not travel; one of numbers, times or text does")
    return ["array", array.dtype.str, list(np.shape(value)), _add(buffers, array.tobytes())]


def _decode_array(dtype: str, shape: list[int], content: bytes) -> Any:
    import numpy as np

    kind = np.dtype(dtype)
    is_plain = kind.str == dtype and not kind.hasobject
    if not is_plain or not all(type(size) is int and size >= 0 for size in shape):
        raise NotPortableError(f"malformed array of dtype {dtype:.100}")
    array = np.frombuffer(content, kind).reshape(shape).copy()
    return array if shape else array[()]
