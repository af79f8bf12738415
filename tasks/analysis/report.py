"""One self-contained HTML page about a plan."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import polars as pl
from jinja2 import Environment, PackageLoader, StrictUndefined

from carryover.tasks.analysis.figures import Drawing
from carryover.tasks.analysis.rendering import sheets

_TEMPLATES = Environment(
    loader=PackageLoader("carryover.tasks.analysis"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


class ReportTable(NamedTuple):
    """A table of the study with its rows."""

    name: str
    title: str
    frame: pl.DataFrame


class ReportContent(NamedTuple):
    """Contents of a report."""

    title: str
    measured_on: str
    """Scale and model of our numbers, e.g. `laptop, not Qwen3-8B`."""
    findings: Sequence[str]
    """Findings of the study, the headline with its interval first (`summary.findings`)."""
    pictures: Sequence[Drawing]
    """The 2x2 of every group (`pictures.cells_svg`)."""
    figures: Sequence[Drawing]
    tables: Sequence[ReportTable]
    facts: Sequence[tuple[str, str]]
    """Names and values of the run: plan, digest, started, ..."""
    plan_json: str
    environment_json: str


def render_report(content: ReportContent) -> str:
    """Return the report as an HTML page without external references."""
    return render_template(
        "report.html.jinja",
        content=content,
        folded_from=60,  # a table of more rows opens on a click
        tables=[
            {"name": table.name, "title": table.title, "sheets": sheets(table.frame, table.name)}
            for table in content.tables
        ],
        documents=[
            (name, json.dumps(json.loads(document), indent=2, ensure_ascii=False, sort_keys=True))
            for name, document in (("Resolved plan", content.plan_json), ("Environment", content.environment_json))
        ],
    )


def render_template(name: str, **values: Any) -> str:
    """Return a filled-in template of `tasks/analysis/templates`; a missing value raises."""
    return _TEMPLATES.get_template(name).render(**values)
