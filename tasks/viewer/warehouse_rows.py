"""Rows of the queries in `sql/viewer`."""

from importlib.resources import files
from typing import Any

from carryover.tasks.analysis.asking import Ask


def viewer_sql(name: str) -> str:
    """Return the query `sql/viewer/NAME.sql`."""
    return (files("carryover.sql") / "viewer" / f"{name}.sql").read_text(encoding="utf-8")


def rows(ask: Ask, name: str, **parameters: Any) -> list[dict[str, Any]]:
    """Return the rows of a query of `sql/viewer`."""
    return ask(viewer_sql(name), **parameters).to_pylist()
