"""The study's tables and the verdicts on its hypotheses, read from the warehouse and printed."""

import json

import polars as pl
import typer

from carryover.flows.cli.screen import screen
from carryover.storage.warehouse.reader import Warehouse
from carryover.tasks.analysis.queries import TableQuery, table_names, table_query
from carryover.tasks.analysis.rendering import TableFormat, render_table, rich_table
from carryover.tasks.knapsack.environment import describe_tools
from carryover.tasks.plans.hypotheses import Verdict, judge, read_hypotheses
from carryover.tasks.running.errors import UserError
from carryover.tasks.traces.study_rows import StatisticRow

GROUPS = ("variant", "base", "visibility", "header", "bucket", "measured_on")
VERDICTS_TITLE = (
    "hypotheses of tasks/plans/hypotheses.toml: criteria, the number that decides, its widest interval, and the verdict"
)


def print_tables(warehouse: Warehouse, plan_digest: str, name: str | None, table_format: TableFormat) -> None:
    """Print one table of a plan, or all of them.

    Raises:
        UserError: There is no such table.
    """
    try:
        queries = [table_query(each) for each in ([name] if name else table_names())]
    except ValueError as error:
        raise UserError(str(error)) from error
    for position, query in enumerate(queries):
        if position > 0 and table_format != "csv":
            typer.echo()
        frame = read_table(warehouse, query, plan_digest)
        title = f"{query.name}: {query.title}" if table_format == "rich" else query.title
        print_frame(query.name, frame, table_format, title)


def print_frame(name: str, frame: pl.DataFrame, table_format: TableFormat, title: str) -> None:
    """Print rows in the layout of the study's tables."""
    if table_format == "rich":
        screen().print(rich_table(name, frame, title=title))
    else:
        typer.echo(render_table(name, frame, table_format, title=title), nl=False)


def read_table(warehouse: Warehouse, query: TableQuery, plan_digest: str) -> pl.DataFrame:
    """Return a table's rows for a plan."""
    known = {"plan_digest": plan_digest, "tools_json": json.dumps(describe_tools())}
    return warehouse.sql(query.sql, **{name: known[name] for name in query.parameters}).polars()


def cell_groups(warehouse: Warehouse, plan_digest: str) -> list[tuple[tuple[str, ...], pl.DataFrame]]:
    """Return the rows of the table `cells` by the columns of `GROUPS`, in their order."""
    cells = read_table(warehouse, table_query("cells"), plan_digest)
    groups = cells.partition_by(GROUPS, maintain_order=True, as_dict=True)
    return [(tuple(map(str, key)), group) for key, group in groups.items()]


def print_verdicts(warehouse: Warehouse, plan_digest: str, table_format: TableFormat) -> None:
    """Print one row per hypothesis and group of a plan's episodes, and the count of each verdict."""
    frame = read_verdicts(warehouse, plan_digest)
    print_frame("hypotheses", frame, table_format, VERDICTS_TITLE)
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
    return frame.sort(("variant", "base", "visibility", "header", "bucket"), maintain_order=True)
