"""A published number beside what other published numbers give for it."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from carryover.tasks.analysis.published_tables import PRINTED, Cell, Paper, printed_cell

FLOAT_SLACK = 1e-9
"""Binary fractions: 0.1 printed is not 0.1 computed."""


class Recomputation(NamedTuple):
    """A published number and what its table gives for it."""

    paper: Paper
    place: str
    claim: str
    published: float
    recomputed: float
    tolerance: float
    """Half a unit of the last printed digit, or what the rounding of the inputs allows."""
    cells: tuple[Cell, ...]
    """Where the number is printed: a mean of several rows stands in each of them."""

    @property
    def verdict(self) -> Literal["holds", "rounding", "inconsistent"]:
        """`holds` within the tolerance, `rounding` within twice that, `inconsistent` beyond."""
        error = abs(self.published - self.recomputed)
        if error <= self.tolerance + FLOAT_SLACK:
            return "holds"
        return "rounding" if error <= 2 * self.tolerance + FLOAT_SLACK else "inconsistent"


def of_row(
    file: str, claim: str, row: dict[str, Any], column: str, recomputed: float, *, tolerance: float
) -> Recomputation:
    """Return the recomputation of the number in one column of one row of a published file."""
    return of_rows(file, claim, [row], column, recomputed, tolerance=tolerance)


def of_rows(
    file: str, claim: str, rows: Sequence[dict[str, Any]], column: str, recomputed: float, *, tolerance: float
) -> Recomputation:
    """Return the recomputation of a number that stands in one column of each of these rows of a published file."""
    cells = tuple(printed_cell(file, row, column) for row in rows)
    return Recomputation(*PRINTED[file], claim, rows[0][column], recomputed, tolerance, cells)
