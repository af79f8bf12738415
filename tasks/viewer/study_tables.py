"""The study's tables and pictures, as pages show them."""

import json
from typing import Any

import polars as pl

from carryover.tasks.analysis.drawings import draw_cells, draw_figures
from carryover.tasks.analysis.queries import command_sql, table_query, tables_of
from carryover.tasks.analysis.rendering import sheets
from carryover.tasks.knapsack.environment import describe_tools
from carryover.tasks.viewer.warehouse_rows import Ask

QUIET_VERDICTS = {"unverifiable": "what nothing published gives", "holds": "what holds"}
"""Verdicts on claims that are many and say little: each is a table of its own."""


def tables_page(ask: Ask, plan_digest: str) -> dict[str, Any]:
    """Return every table of a plan, laid out in sheets of text."""
    tables: list[dict[str, Any]] = []
    for name in _names(ask, plan_digest):
        query = table_query(name)
        frame = table_frame(ask, name, plan_digest)
        if name.startswith("figure_") or frame.is_empty():
            continue
        for part, title, rows in _parts(name, query.title, frame):
            tables.append({"name": part, "title": title, "sheets": [_sheet(each) for each in sheets(rows, name)]})
    return {"tables": tables}


def figures_page(ask: Ask, plan_digest: str) -> dict[str, Any]:
    """Return the drawings of a plan as SVG with captions."""

    def read(name: str) -> pl.DataFrame:
        return table_frame(ask, name, plan_digest)

    drawings = (*draw_cells(read), *draw_figures(read, _names(ask, plan_digest)))
    return {"figures": [drawing._asdict() for drawing in drawings]}


def table_frame(ask: Ask, name: str, plan_digest: str) -> pl.DataFrame:
    """Return the rows of a file of `sql/tables`."""
    query = table_query(name)
    known = {"plan_digest": plan_digest, "tools_json": json.dumps(describe_tools())}
    return pl.DataFrame(ask(query.sql, **{parameter: known[parameter] for parameter in query.parameters}))


def _names(ask: Ask, plan_digest: str) -> list[str]:
    """Return the tables' names for a plan's families."""
    return tables_of(ask(command_sql("plan_families"), plan_digest=plan_digest).column(0).to_pylist())


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
