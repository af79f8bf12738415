"""Values as plain data: a JSON tree of tagged nodes, and buffers for what is large. Both sides use it; nobody pickles.

A node is `["json", value]`, `["bytes", buffer]`, `["list" | "tuple", nodes]`, `["set" | "frozenset", nodes]`,
`["dict", pairs]`, `["array", dtype, shape, buffer]`, `["frame", library, has_index, buffer]`,
`["series", library, name, buffer]` or `["record", type name, fields]`; `buffer` counts from 0.
"""

import io
import sys
from collections.abc import Callable, Sequence
from typing import Any

_DEPTH_LIMIT = 100
_PLAIN = (type(None), bool, int, float, str)
_LIBRARIES = ("polars", "pandas")


class NotPortableError(Exception):
    """The value has no form in plain data."""


def encode(value: Any, buffers: list[Any], depth: int = 0) -> list[Any]:  # noqa: PLR0911 - one form per line
    """Return a value's node, appending to `buffers` what does not belong into JSON.

    Raises:
        NotPortableError: The value, or one inside it, is of a kind that does not travel.
    """
    kind = type(value)
    if kind in _PLAIN:
        return ["json", value]
    if depth > _DEPTH_LIMIT:
        raise NotPortableError(f"a value nested deeper than {_DEPTH_LIMIT} levels does not travel")
    if kind in (list, tuple, set, frozenset):
        if kind is list and all(type(item) in _PLAIN for item in value):
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
        return _encode_tabular(value, library, name, buffers)
    fields = kind.__dict__.get("__dataclass_fields__")
    if type(fields) is dict:
        content = {field: encode(object.__getattribute__(value, field), buffers, depth + 1) for field in fields}
        return ["record", kind.__name__, content]
    raise NotPortableError(
        f"a value of type {kind.__name__} does not travel; plain data, NumPy arrays, Polars and pandas frames and "
        "dataclass instances do"
    )


def decode(node: Any, buffers: Sequence[bytes], make_record: Callable[[str, dict[str, Any]], Any]) -> Any:
    """Return the value behind a node; records are made by `make_record` from type name and fields.

    Raises:
        NotPortableError: The node is malformed.
    """
    try:
        return _decode(node, buffers, make_record)
    except NotPortableError:
        raise
    except (TypeError, ValueError, IndexError, KeyError, RecursionError, OverflowError) as error:
        raise NotPortableError(f"malformed data: {error}") from error


def _decode(  # noqa: PLR0911 - one form per line
    node: Any, buffers: Sequence[bytes], make_record: Callable[[str, dict[str, Any]], Any]
) -> Any:
    def inner(child: Any) -> Any:
        return _decode(child, buffers, make_record)

    match node:
        case ["json", value]:
            return value
        case ["bytes", int(index)]:
            return bytes(buffers[index])
        case ["list", list(items)]:
            return [inner(item) for item in items]
        case ["tuple", list(items)]:
            return tuple(inner(item) for item in items)
        case ["set", list(items)]:
            return {inner(item) for item in items}
        case ["frozenset", list(items)]:
            return frozenset(inner(item) for item in items)
        case ["dict", list(pairs)]:
            return {inner(key): inner(value) for key, value in pairs}
        case ["array", str(dtype), list(shape), int(index)]:
            return _decode_array(dtype, shape, buffers[index])
        case ["frame", str(library), bool(has_index), int(index)] if library in _LIBRARIES:
            return _decode_frame(library, has_index, buffers[index])
        case ["series", str(library), name, int(index)] if library in _LIBRARIES:
            frame = _decode_frame(library, False, buffers[index])
            return (frame.to_series(0) if library == "polars" else frame.iloc[:, 0]).rename(name)
        case ["record", str(name), dict(fields)]:
            return make_record(name, {field: inner(value) for field, value in fields.items()})
    raise NotPortableError(f"malformed data: {node!r:.200}")


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


def _add(buffers: list[Any], content: Any) -> int:
    buffers.append(content)
    return len(buffers) - 1


def _encode_numpy(value: Any, buffers: list[Any]) -> list[Any]:
    import numpy as np

    array = np.ascontiguousarray(value)
    if array.dtype.hasobject or array.dtype.names is not None:
        raise NotPortableError(f"an array of dtype {array.dtype} does not travel; one of numbers, times or text does")
    return ["array", array.dtype.str, list(np.shape(value)), _add(buffers, array.tobytes())]


def _decode_array(dtype: str, shape: list[int], content: bytes) -> Any:
    import numpy as np

    kind = np.dtype(dtype)
    if kind.hasobject or not all(type(size) is int and size >= 0 for size in shape):
        raise NotPortableError(f"malformed array of dtype {dtype}")
    array = np.frombuffer(content, kind).reshape(shape).copy()
    return array if shape else array[()]


def _encode_tabular(value: Any, library: str, name: str, buffers: list[Any]) -> list[Any]:
    is_series = name == "Series"
    if library == "polars":
        content = _polars_stream(value.to_frame() if is_series else value)
        has_index = False
    else:
        content, has_index = _pandas_stream(value.to_frame("value") if is_series else value, keeps_index=not is_series)
    index = _add(buffers, content)
    return ["series", library, value.name, index] if is_series else ["frame", library, has_index, index]


def _polars_stream(frame: Any) -> bytes:
    import polars as pl

    target = io.BytesIO()
    try:
        frame.write_ipc_stream(target, compat_level=pl.CompatLevel.oldest())
    except Exception as error:
        raise NotPortableError(f"Polars cannot write the frame as Arrow: {error}") from error
    return target.getvalue()


def _pandas_stream(frame: Any, *, keeps_index: bool) -> tuple[bytes, bool]:
    import pandas as pd
    import pyarrow as pa

    has_index = keeps_index and not isinstance(frame.index, pd.RangeIndex)
    try:
        table = pa.Table.from_pandas(frame.reset_index() if has_index else frame, preserve_index=False)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise NotPortableError(f"Arrow cannot hold the frame: {error}") from error
    target = io.BytesIO()
    with pa.ipc.new_stream(target, table.schema.remove_metadata()) as writer:
        writer.write_table(table.replace_schema_metadata(None))
    return target.getvalue(), has_index


def _decode_frame(library: str, has_index: bool, content: bytes) -> Any:
    """Read Arrow's stream format; every buffer is checked, since the writer is not trusted."""
    import pyarrow as pa

    try:
        table = pa.ipc.open_stream(content).read_all()
        table.validate(full=True)
    except pa.ArrowException as error:
        raise NotPortableError(f"malformed Arrow data: {error}") from error
    table = table.replace_schema_metadata(None)
    if library == "polars":
        import polars as pl

        return pl.from_arrow(table)
    frame = table.to_pandas(ignore_metadata=True)
    return frame.set_index(frame.columns[0]) if has_index else frame
