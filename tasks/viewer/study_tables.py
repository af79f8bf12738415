"""The study's tables and pictures, as pages show them."""

from typing import Any

import polars as pl

from carryover.tasks.analysis.asking import Ask
from carryover.tasks.analysis.drawings import draw_cells, draw_figures
from carryover.tasks.analysis.plan_tables import names_of_plan, rows_of_plan
from carryover.tasks.analysis.queries import table_query
from carryover.tasks.analysis.rendering import sheets

QUIET_VERDICTS = {"unverifiable": "what nothing published gives", "holds": "what holds"}
"""Verdicts on claims that are many and say little: each is a table of its own."""


def tables_page(ask: Ask, plan_digest: str) -> dict[str, Any]:
    """Return every table of a plan, laid out in sheets of text."""
    tables: list[dict[str, Any]] = []
    for query in map(table_query, names_of_plan(ask, plan_digest)):
        name = query.name
        frame = rows_of_plan(ask, query, plan_digest)
        if name.startswith("figure_") or frame.is_empty():
            continue
        for part, title, rows in _parts(name, query.title, frame):
            tables.append({"name": part, "title": title, "sheets": [_sheet(each) for each in sheets(rows, name)]})
    return {"tables": tables}


def figures_page(ask: Ask, plan_digest: str) -> dict[str, Any]:
    """Return the drawings of a plan as SVG with captions."""

    def read(name: str) -> pl.DataFrame:
        return rows_of_plan(ask, table_query(name), plan_digest)

    drawings = (*draw_cells(read), *draw_figures(read, names_of_plan(ask, plan_digest)))
    return {"figures": [drawing._asdict() for drawing in drawings]}


def _parts(name: str, title: str, frame: pl.DataFrame) -> list[tuple[str, str, pl.DataFrame]]:
    """Return a table under its name, and the claims as three."""
    if name != "claims":
        return [(name, title, frame)]
    loud = frame.filter(~pl.col("verdict").is_in([*QUIET_VERDICTS]))
    parts = [("claims", f"{title}: what does not simply hold", loud)]
    for verdict, words in QUIET_VERDICTS.items():
        parts.append((f"claims_{verdict}", f"{title}: {words}", frame.filter(pl.col("verdict") == verdict)))
    return parts


def _sheet(sheet: Any) -> dict[str, Any]:
    return {"caption": sheet.caption, "header": sheet.header, "styles": sheet.styles(), "rows": sheet.rows}
