"""One self-contained HTML page about a plan: pictures, figures, tables, claims, plan and environment."""

import json
from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from carryover.tasks.analysis.figures import Drawing
from carryover.tasks.analysis.rendering import sheets
from carryover.tasks.analysis.templates import render_template

FOLDED_FROM = 60
"""A table of more rows opens on a click."""

SECTIONS = (("pictures", "The 2x2"), ("figures", "Figures"), ("tables", "Tables"), ("plan", "Plan and environment"))


class ReportTable(NamedTuple):
    """A table of the study with its rows."""

    name: str
    title: str
    frame: pl.DataFrame


class ReportContent(NamedTuple):
    """What a report is made of."""

    title: str
    measured_on: str
    """Scale and model of our numbers, e.g. `laptop, not Qwen3-8B`."""
    summary: str
    """One or two sentences below the title."""
    pictures: Sequence[Drawing]
    """The 2x2 of every group (`pictures.cells_svg`)."""
    figures: Sequence[Drawing]
    tables: Sequence[ReportTable]
    facts: Sequence[tuple[str, str]]
    """Names and values of the run: plan, digest, started, ..."""
    plan_json: str
    environment_json: str


def render_report(content: ReportContent) -> str:
    """Return the report as one HTML page without any reference to another file."""
    return render_template(
        "report.html.jinja",
        content=content,
        sections=SECTIONS,
        folded_from=FOLDED_FROM,
        tables=[{"name": table.name, "title": table.title, "sheets": sheets(table.frame)} for table in content.tables],
        documents=[
            ("Resolved plan", _indented(content.plan_json)),
            ("Environment", _indented(content.environment_json)),
        ],
    )


def _indented(document: str) -> str:
    return json.dumps(json.loads(document), indent=2, ensure_ascii=False, sort_keys=True)
