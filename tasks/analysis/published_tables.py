"""Published tables: every printed number, beside its recomputation."""

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple

import polars as pl

from carryover.tasks.traces.vocabulary import LETTERS

Paper = Literal["S", "C"]
"""The study or CaveAgent, as the published tables name them."""

PRINTED: dict[str, tuple[Paper, str]] = {
    **{f"table_{number}": ("S", f"Table {number}") for number in (1, 2, 3, 5, 7, 8, 9, 10)},
    "failure_analysis": ("S", "4.3"),
    **{f"cave_table_{number}": ("C", f"Table {number}") for number in (1, 2, 3, 4, 5)},
    "cave_failure_analysis": ("C", "F.1"),
}
"""Files of printed numbers, with the paper and the place in it; Tables 4 and 6 are words."""

NOT_PRINTED = {
    "table_7": ("delta_recomputed",),
    "table_8": ("delta_recomputed",),
    "failure_analysis": ("count_recomputed", "denominator_unsolved"),
}
"""Columns beside the printed numbers, recomputed from them."""

METRICS = ("table_1", "table_5", "cave_table_4")
"""Files with a metric in each row."""

COMPARISONS = ("table_7", "table_8")
"""Files with two arms in each row."""

NAMED_BY = {
    "failure_analysis": ("category",),
    "cave_failure_analysis": ("suite", "solved_by"),
    "cave_table_1": ("model", "domain"),
    "cave_table_2": ("model", "arm", "run"),
    "cave_table_3": ("dimension", "condition", "model"),
    "cave_table_5": ("task_category", "method"),
}
"""Columns that name a row, beside its cell."""

FLOAT_SLACK = 1e-9
"""Binary fractions: 0.1 printed is not 0.1 computed."""


class Cell(NamedTuple):
    """Place of a printed number."""

    file: str
    row: str
    """The row in words, as `row_label` gives it."""
    column: str


def published_table(name: str, *, text: bool = False) -> pl.DataFrame:
    """Return a table of `sql/published`, as numbers or as printed.

    With `text`, every column but a `tolerance` is as printed.
    """
    source = (files("carryover.sql") / "published" / f"{name}.csv").read_bytes()
    frame = pl.read_csv(source, infer_schema=not text)
    return frame.with_columns(pl.col("^tolerance$").cast(pl.Float64))


def printed_cell(file: str, row: dict[str, Any], column: str) -> Cell:
    """Return the place of the number in a row's column."""
    return Cell(file, row_label(file, row), column)


@cache
def printed_numbers() -> dict[Cell, str]:
    """Return every printed number of the `PRINTED` files, by cell."""
    numbers = {}
    for file in PRINTED:
        numeric = published_table(file).select(pl.selectors.numeric()).columns
        columns = [name for name in numeric if name not in NOT_PRINTED.get(file, ())]
        for row in published_table(file, text=True).rows(named=True):
            printed = {printed_cell(file, row, name): row[name] for name in columns if row[name] is not None}
            numbers.update(printed)
    return numbers


def half_last_digit(printed: str) -> float:
    """Return half a unit of the last digit of a printed number."""
    return 10.0 ** -len(printed.partition(".")[2]) / 2


def row_label(file: str, row: dict[str, Any]) -> str:
    """Return a row's unique label within its `PRINTED` file."""
    if file in COMPARISONS:
        a = arm_label(row["train_a"], row["runtime_a"])
        b = arm_label(row["train_b"], row["runtime_b"])
        return f"{a} against {b}, {row['split']}"
    if file in METRICS:
        return f"{row['metric'].replace('_', ' ')} ({row['unit']})"
    named = [str(row[column]).replace("_", " ") for column in NAMED_BY.get(file, ())]
    return ", ".join([*named, cell_label(row)] if "split" in row else named)


def cell_label(row: dict[str, Any]) -> str:
    """Return a row's cell in the study's tables: `P->S, hard`."""
    return f"{arm_label(row['train_semantics'] or 'base', row['runtime_semantics'])}, {row['split']}"


def arm_label(train: str, runtime: str) -> str:
    """Return an arm by its letters, such as `P->S` or `base->P`."""
    return f"{LETTERS.get(train, train)}->{LETTERS[runtime]}"


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
    """Places of the number: a mean of several rows is printed in each of them."""

    @property
    def verdict(self) -> Literal["holds", "rounding", "inconsistent"]:
        """`holds` within the tolerance, `rounding` within twice that, `inconsistent` beyond."""
        error = abs(self.published - self.recomputed)
        if error <= self.tolerance + FLOAT_SLACK:
            return "holds"
        if error <= 2 * self.tolerance + FLOAT_SLACK:
            return "rounding"
        return "inconsistent"


def of_rows(
    file: str, claim: str, rows: Sequence[dict[str, Any]], column: str, recomputed: float, *, within: float
) -> Recomputation:
    """Return the recomputation of one column's numbers in these rows."""
    cells = tuple(printed_cell(file, row, column) for row in rows)
    return Recomputation(*PRINTED[file], claim, rows[0][column], recomputed, within, cells)
