"""Polars and pandas frames and series as Arrow's stream format."""

import io
from typing import Any

from .portable import Allowance, NotPortableError


def write_frame(value: Any, library: str, *, is_series: bool) -> tuple[bytes, bool]:
    """Return a frame or a series as a stream, and whether an index is its first column.

    Raises:
        NotPortableError: Arrow cannot hold it.
    """
    if library == "polars":
        return _polars_stream(value.to_frame() if is_series else value), False
    return _pandas_stream(value.to_frame("value") if is_series else value)


def read_frame(content: bytes, library: str, *, has_index: bool, allowance: Allowance) -> Any:
    """Return the frame in a stream; every buffer is checked, since the writer is not trusted.

    Raises:
        NotPortableError: It is malformed, or larger than the allowance.
    """
    from .arrow_stream import read_table

    table = read_table(content, library, allowance)
    if library == "polars":
        import polars as pl

        try:
            return pl.from_arrow(table)
        except pl.exceptions.PanicException as error:  # no `Exception`: nobody else would catch it
            raise NotPortableError(f"Polars cannot make a frame of the Arrow data: {error}") from error
    frame = table.to_pandas(ignore_metadata=True, use_threads=False)  # threads die in a fork
    return frame.set_index(frame.columns[0]) if has_index else frame


def _polars_stream(frame: Any) -> bytes:
    import polars as pl

    if pl.Object in frame.dtypes:
        raise NotPortableError("a column of dtype Object does not travel; cast it, or make a list of it")
    target = io.BytesIO()
    try:
        frame.write_ipc_stream(target, compat_level=pl.CompatLevel.oldest())
    except Exception as error:
        raise NotPortableError(f"Polars cannot write the frame as Arrow: {error}") from error
    return target.getvalue()


def _pandas_stream(frame: Any) -> tuple[bytes, bool]:
    import pandas as pd
    import pyarrow as pa

    _check_labels(frame)
    has_index = not frame.index.identical(pd.RangeIndex(len(frame)))
    label = "index"
    while label in frame.columns:
        label += "_"
    try:
        whole = frame.reset_index(names=label) if has_index else frame
        table = pa.Table.from_pandas(whole, preserve_index=False, nthreads=1)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise NotPortableError(f"Arrow cannot hold the frame: {error}") from error
    target = io.BytesIO()
    with pa.ipc.new_stream(target, table.schema.remove_metadata()) as writer:
        writer.write_table(table.replace_schema_metadata(None))
    return target.getvalue(), has_index


def _check_labels(frame: Any) -> None:
    """Raise `NotPortableError` where names of a frame of pandas would come back altered, and say what would not."""
    import pandas as pd

    if isinstance(frame.index, pd.MultiIndex):
        raise NotPortableError("an index of several levels does not travel; make columns of them with reset_index()")
    if type(frame.index.name) not in (type(None), str):
        raise NotPortableError("an index whose name is no text does not travel; give it one with rename_axis('name')")
    if isinstance(frame.columns, pd.MultiIndex) or any(type(label) is not str for label in frame.columns):
        raise NotPortableError("column names that are no text do not travel; make it of them with rename(columns=str)")
    if frame.columns.name is not None:
        raise NotPortableError("a name of the columns does not travel; drop it with rename_axis(columns=None)")
