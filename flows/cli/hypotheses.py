"""The verdicts on a plan's hypotheses."""

import polars as pl
import typer

from carryover.flows.cli.screen import screen
from carryover.storage.warehouse.reader import Warehouse
from carryover.tasks.analysis.rendering import TableFormat, render_table, rich_table
from carryover.tasks.plans.hypotheses import Verdict, judge, read_hypotheses
from carryover.tasks.traces.study_rows import StatisticRow

TITLE = (
    "hypotheses of tasks/plans/hypotheses.toml: criteria, the number that decides, its widest interval, and the verdict"
)


def print_verdicts(warehouse: Warehouse, plan_digest: str, table_format: TableFormat) -> None:
    """Print one row per hypothesis and group of a plan's episodes."""
    frame = read_verdicts(warehouse, plan_digest)
    if table_format == "rich":
        screen().print(rich_table("hypotheses", frame, title=TITLE))
    else:
        typer.echo(render_table("hypotheses", frame, table_format, title=TITLE), nl=False)
    counts = frame["verdict"].value_counts().sort("verdict").rows()
    typer.echo("; ".join(f"{count} {verdict}" for verdict, count in counts) or "no hypothesis has its statistic here")


def read_verdicts(warehouse: Warehouse, plan_digest: str) -> pl.DataFrame:
    """Return the verdicts on a plan's statistics, group by group."""
    rows = warehouse.sql("select * from statistics where plan_digest = $plan_digest", plan_digest=plan_digest)
    verdicts = judge(read_hypotheses(), (StatisticRow.model_validate(row) for row in rows.arrow().to_pylist()))
    columns = [*Verdict._fields[:-1], "verdict"]
    frame = pl.DataFrame(
        [(*verdict[:-1], "holds" if verdict.holds else "does not hold") for verdict in verdicts],
        schema={name: pl.Float64 if name in ("estimate", "low", "high") else pl.String for name in columns},
        orient="row",
    )
    groups = ("variant", "base", "visibility", "header", "bucket")
    return frame.sort(groups, maintain_order=True)
