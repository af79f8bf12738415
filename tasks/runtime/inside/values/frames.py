"""Codecs of arrays and frames; images travel as PNG.

The contents are NumPy's arrays and Arrow's streams; everything else here is made of these two. A stream is validated
in full wherever it is read.
"""

import ast
import importlib
import io
import math
import sys
from typing import Any

from .portable import Codec, Content, NotPortableError, raw

LIBRARIES = ("numpy", "pandas", "polars", "pyarrow")
"""Packages that codecs use, by the first word of their tags."""

_EXTENSION = b"ARROW:extension:name"
"""Key of a column's metadata that names an extension type."""


class _Library:
    """A library imported at a codec's first use.

    Most processes never need it.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self._name), name)


np, pd, pl, pa = map(_Library, LIBRARIES)


def _split_array(value: Any) -> Any:
    dtype = value.dtype
    shape = list(np.shape(value))
    order = "F" if value.flags.fnc else "C"
    is_writeable = value.flags.writeable
    if dtype.kind == "O":
        return ["O", order, is_writeable, len(shape), *shape, *value.ravel(order).tolist()]
    has_bytes = dtype.itemsize and not dtype.hasobject and dtype.kind != "T"
    descr: Any = None
    if has_bytes:
        descr = np.lib.format.dtype_to_descr(dtype)
    if descr is None or np.lib.format.descr_to_dtype(descr) != dtype:
        raise NotPortableError(f"an array of dtype {dtype} does not travel; convert it with astype(object)")

    def write(target: memoryview) -> None:
        np.ndarray(shape, dtype, target, order=order)[...] = value

    return [repr(descr), order, is_writeable, len(shape), *shape], Content(value.nbytes, write)


def _make_array(_kind: Any, text: str, order: str, is_writeable: bool, rank: int, *parts: Any) -> Any:
    shape = parts[:rank]
    rest = parts[rank:]
    if text == "O":
        array = np.empty(len(rest), object)
        array[:] = rest
        array = array.reshape(shape, order=order)
    else:
        dtype = np.lib.format.descr_to_dtype(ast.literal_eval(text))
        (content,) = rest
        is_written_so = repr(np.lib.format.dtype_to_descr(dtype)) == text and dtype.itemsize and not dtype.hasobject
        if not is_written_so or math.prod(shape) * dtype.itemsize != len(content):
            raise ValueError(f"an array of dtype {text:.100} and shape {shape!r:.100}")
        array = np.ndarray(shape, dtype, content, order=order)
    array.flags.writeable = is_writeable
    return array


def _split_table(table: Any) -> Any:
    for field in table.schema:
        if _EXTENSION in pa.schema([field]).serialize().to_pybytes():
            raise NotPortableError(f"column {field.name!r:.100} of Arrow type {field.type!s:.100} does not travel")
    sizing = pa.MockOutputStream()
    _write_stream(sizing, table)
    size = sizing.size()
    return [], Content(size, lambda target: _write_stream(pa.FixedSizeBufferWriter(pa.py_buffer(target)), table))


def _write_stream(target: Any, table: Any) -> None:
    with target, pa.ipc.new_stream(target, table.schema) as writer:
        writer.write_table(table)


def _make_table(_kind: Any, content: memoryview) -> Any:
    # Arrow calls the code of an extension type that this process has registered with what the stream says of it.
    schema = pa.ipc.MessageReader.open_stream(pa.py_buffer(content)).read_next_message()
    if _EXTENSION in schema.metadata.to_pybytes():
        raise NotPortableError("a table with an Arrow extension type does not travel")
    table = pa.ipc.open_stream(pa.py_buffer(content)).read_all()
    table.validate(full=True)
    return table


def _one_batch(_kind: Any, table: Any) -> Any:
    batches = table.combine_chunks().to_batches()
    if batches:
        return batches[0]
    return pa.RecordBatch.from_pylist([], table.schema)


def _whole(column: Any) -> Any:
    whole = column.combine_chunks()
    if isinstance(whole, pa.Array):
        return whole
    return pa.concat_arrays(whole.chunks)


def _split_polars(frame: Any) -> list[Any]:
    try:
        table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
        back = pl.DataFrame(pl.from_arrow(table.slice(0, 0)))
    except (Exception, pl.exceptions.PanicException) as error:  # a panic is no `Exception`
        raise NotPortableError(f"Polars cannot write the frame as Arrow: {error}") from error
    for (name, dtype), other in zip(frame.schema.items(), back.schema.values(), strict=True):
        if dtype != other:
            raise NotPortableError(f"column {name!r:.100} of dtype {dtype} does not travel; cast it to {other}")
    return [table]


def _make_polars(_kind: Any, table: Any) -> Any:
    try:
        frame = pl.DataFrame(pl.from_arrow(table))
        frame.columns = table.column_names  # Polars numbers columns whose name is empty
        return frame
    except pl.exceptions.PanicException as error:
        raise NotPortableError(f"Polars cannot make a frame of the Arrow data: {error}") from error


def _cells(array: Any) -> Any:
    """Return a column's or index's cells, as an array.

    It is of NumPy, or an extension array of pandas.
    """
    if type(array) is pd.arrays.NumpyExtensionArray:
        return array.to_numpy()
    return array


def _split_frame(frame: Any) -> list[Any]:
    columns = (_cells(frame.iloc[:, place].array) for place in range(frame.shape[1]))
    return [frame.columns, frame.index, frame.attrs, frame.flags.allows_duplicate_labels, *columns]


def _make_frame(kind: Any, columns: Any, index: Any, attributes: Any, may_repeat: bool, *cells: Any) -> Any:
    frame = kind({place: _series(one, index) for place, one in enumerate(cells)}, index=index, copy=False)
    frame.columns = columns
    frame.attrs = attributes
    frame.flags.allows_duplicate_labels = may_repeat
    return frame


def _series(cells: Any, index: Any, name: Any = None) -> Any:
    return pd.Series(cells, index=index, name=name, dtype=cells.dtype, copy=False)


def _split_series(series: Any) -> list[Any]:
    return [_cells(series.array), series.index, series.name, series.attrs, series.flags.allows_duplicate_labels]


def _make_series(_kind: Any, cells: Any, index: Any, name: Any, attributes: Any, may_repeat: bool) -> Any:
    series = _series(cells, index, name)
    series.attrs = attributes
    series.flags.allows_duplicate_labels = may_repeat
    return series


def _make_index(kind: Any, cells: Any, name: Any, frequency: str | None = None) -> Any:
    index = kind(cells, dtype=cells.dtype, name=name)
    if frequency is not None:
        index.freq = frequency
    return index


def _in_zone(moments: Any, zone: Any) -> Any:
    if zone is None:
        return moments
    return moments.tz_localize("UTC").tz_convert(zone)


def _split_text(array: Any) -> list[Any]:
    """Return texts, their storage, and whether a missing one is NaN."""
    try:
        return [array.__arrow_array__(), array.dtype.storage, array.dtype.na_value is not pd.NA]
    except ValueError as error:
        raise NotPortableError(f"Arrow cannot hold the texts: {error}") from error


def _split_picture(picture: Any) -> Any:
    target = io.BytesIO()
    (picture.savefig if hasattr(picture, "savefig") else picture.save)(target, format="png")
    return raw(target.getvalue())


_MASKED = Codec(
    lambda array: [array.to_numpy(array.dtype.numpy_dtype, na_value=0), array.isna()],
    lambda kind, *parts: kind(*parts),
)
_INDEX = Codec(lambda index: [_cells(index.array), index.name], _make_index)
_TIME_INDEX = Codec(lambda index: [_cells(index.array), index.name, index.freqstr], _make_index)
_TEXTS = Codec(
    _split_text,
    lambda _kind, cells, storage, is_nan: pd.StringDtype(storage, math.nan if is_nan else pd.NA).__from_arrow__(cells),
)
_CONSTANT = Codec(lambda _value: [], lambda kind: kind)

CODECS: dict[str, Codec] = {
    "numpy.ndarray": Codec(_split_array, _make_array),
    "numpy.generic": Codec(lambda value: [value.__array__()], lambda _kind, array: array[()]),
    "pyarrow.Table": Codec(_split_table, _make_table),
    "pyarrow.RecordBatch": Codec(lambda batch: [pa.Table.from_batches([batch])], _one_batch),
    "pyarrow.ChunkedArray": Codec(lambda array: [pa.table({"": array})], lambda _kind, table: table.column(0)),
    "pyarrow.Array": Codec(lambda array: [pa.table({"": array})], lambda _kind, table: _whole(table.column(0))),
    "polars.DataFrame": Codec(_split_polars, _make_polars),
    "polars.Series": Codec(lambda series: [series.to_frame()], lambda _kind, frame: frame.to_series(0)),
    "pandas.DataFrame": Codec(_split_frame, _make_frame),
    "pandas.Series": Codec(_split_series, _make_series),
    **dict.fromkeys(("pandas.Index", "pandas.CategoricalIndex", "pandas.IntervalIndex", "pandas.PeriodIndex"), _INDEX),
    "pandas.DatetimeIndex": _TIME_INDEX,
    "pandas.TimedeltaIndex": _TIME_INDEX,
    "pandas.RangeIndex": Codec(
        lambda index: [index.start, index.stop, index.step, index.name],
        lambda kind, start, stop, step, name: kind(start, stop, step, name=name),
    ),
    "pandas.MultiIndex": Codec(
        lambda index: [list(index.levels), list(index.codes), list(index.names)],
        lambda kind, levels, codes, names: kind(levels=levels, codes=codes, names=names),
    ),
    "pandas.Categorical": Codec(
        lambda array: [array.codes.copy(), array.categories, array.ordered],  # the codes are a read-only view
        lambda kind, codes, categories, ordered: kind.from_codes(codes, categories, ordered),
    ),
    "pandas.arrays.ArrowExtensionArray": Codec(lambda array: [array.__arrow_array__()]),
    "pandas.arrays.ArrowStringArray": _TEXTS,
    "pandas.arrays.StringArray": _TEXTS,
    **dict.fromkeys((f"pandas.arrays.{kind}Array" for kind in ("Integer", "Floating", "Boolean")), _MASKED),
    "pandas.arrays.DatetimeArray": Codec(
        lambda array: [array.to_numpy(f"M8[{array.unit}]"), array.tz],
        lambda _kind, moments, zone: _in_zone(pd.DatetimeIndex(moments), zone).array.copy(),
    ),
    "pandas.arrays.TimedeltaArray": Codec(
        lambda array: [array.to_numpy()], lambda _kind, spans: pd.TimedeltaIndex(spans).array.copy()
    ),
    "pandas.arrays.PeriodArray": Codec(
        lambda array: [array.asi8, array.freqstr],
        lambda _kind, ordinals, unit: pd.PeriodIndex.from_ordinals(ordinals, freq=unit).array.copy(),
    ),
    "pandas.arrays.IntervalArray": Codec(
        lambda array: [array.left, array.right, array.closed], lambda kind, *parts: kind.from_arrays(*parts)
    ),
    "pandas.Timestamp": Codec(
        lambda stamp: [stamp.asm8, stamp.tz], lambda kind, moment, zone: _in_zone(kind(moment), zone)
    ),
    "pandas.Timedelta": Codec(lambda span: [span.asm8]),
    "pandas.Period": Codec(
        lambda period: [period.ordinal, period.freqstr], lambda kind, *parts: kind(ordinal=parts[0], freq=parts[1])
    ),
    "pandas.Interval": Codec(lambda interval: [interval.left, interval.right, interval.closed]),
    "pandas.NaT": _CONSTANT,
    "pandas.NA": _CONSTANT,
}
PICTURES: dict[str, Codec] = {
    "PIL.Image.Image": Codec(_split_picture),
    "matplotlib.figure.Figure": Codec(_split_picture),
}
"""Types whose values arrive as the bytes of a PNG file."""


def family(kind: type) -> str | None:
    """Return the tag of a type by its base.

    Such types are many, or have no public name.
    """
    for tag in ("numpy.generic", "pyarrow.Array", "PIL.Image.Image"):
        module, _, name = tag.rpartition(".")
        base = getattr(sys.modules.get(module), name, None)
        if base is not None and issubclass(kind, base):
            return tag
    pandas = sys.modules.get("pandas")
    if pandas is None:
        return None
    return {type(pandas.NaT): "pandas.NaT", type(pandas.NA): "pandas.NA"}.get(kind)
