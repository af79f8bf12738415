"""Rows of one table, as Polars or Arrow."""

import polars as pl
import pyarrow as pa

Frame = pl.LazyFrame | pl.DataFrame | pa.Table


def lazy(frame: Frame) -> pl.LazyFrame:
    """Return rows as a lazy frame, without a copy."""
    if isinstance(frame, pa.Table):
        return pl.DataFrame(pl.from_arrow(frame)).lazy()
    return frame.lazy()
