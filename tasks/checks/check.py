"""A data check as a value: what it asks of a column, and which rows break it."""

from typing import Literal, NamedTuple

import polars as pl
from pydantic import BaseModel, ConfigDict


class Check(BaseModel):
    """One expectation on a table; nulls keep every bound."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    """Name in Data Docs, in check rows and in error messages."""
    kind: Literal["between", "in_set", "row_count"]
    column: str | None = None
    """The column, for `between` and `in_set`."""
    minimum: float | None = None
    """Smallest value, or fewest rows."""
    maximum: float | None = None
    """Largest value, or most rows."""
    allowed: tuple[str, ...] = ()
    """Values of `in_set`."""
    minimum_share: float = 1.0
    """Share of the non-null rows that must keep the bound."""

    def is_broken(self) -> pl.Expr:
        """Return the expression that is true for the rows that break the check; none do for `row_count`."""
        if self.kind == "row_count" or self.column is None:
            return pl.lit(value=False)
        column = pl.col(self.column)
        if self.kind == "in_set":
            return ~column.is_in(list(self.allowed)) & column.is_not_null()
        too_low = pl.lit(value=False) if self.minimum is None else column < self.minimum
        too_high = pl.lit(value=False) if self.maximum is None else column > self.maximum
        return (too_low | too_high).fill_null(value=False)


class Suite(NamedTuple):
    """Checks on one table."""

    name: str
    frame: pl.DataFrame
    checks: tuple[Check, ...]
    id_column: str
    """Names the rows that break a check."""
