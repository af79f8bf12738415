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
    return _pandas_stream(value.to_frame("value") if is_series else value, keeps_index=not is_series)


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
    frame = table.to_pandas(ignore_metadata=True)
    return frame.set_index(frame.columns[0]) if has_index else frame


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
