"""Rows of an SQL file as a person writes and reads them, in `tests/sql/rows`.

A file says `column = value` for what every row has, and the rest as a grid between bars: one line per row below the
names of its columns or, where the first line begins with `column`, one line per column. `{a; b}` in a line of a row
stands for one row of each. Floats have up to six digits, a null is `-`, and `#` begins a line that says why.
"""

from collections.abc import Mapping
from datetime import date
from itertools import product
from typing import Any


def read_rows(text: str) -> list[dict[str, str]]:
    """Return the rows that a file writes down, in their order, every value as its text."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    shared = dict(line.split(" = ", 1) for line in lines if not line.startswith("|"))
    grid = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    if not grid:
        return [shared]
    if grid[0][0] == "column":
        grid = [list(row) for row in zip(*grid[1:], strict=True)]
    names, *rows = grid
    return [
        shared | dict(zip(names, cells, strict=True))
        for row in rows
        for cells in product(*(cell.strip("{}").split("; ") if cell.startswith("{") else [cell] for cell in row))
    ]


def write_row(row: Mapping[str, Any]) -> dict[str, str]:
    """Return a row of a query as a file writes it."""
    return {name: _written(value) for name, value in row.items()}


def _written(value: Any) -> str:
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case float():
            return str(round(value, 6) + 0.0)
        case date() | int() | str():
            return str(value)
    raise TypeError(f"no way to write {value!r}")
