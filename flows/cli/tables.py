"""The study's tables and pictures, read from the warehouse."""

import json
from collections.abc import Sequence

import polars as pl
import typer

from carryover.flows.cli.screen import screen
from carryover.storage.warehouse.reader import Warehouse
from carryover.tasks.analysis.formatting import describe_setting
from carryover.tasks.analysis.pictures import cells_of, cells_text
from carryover.tasks.analysis.queries import TableQuery, table_names, table_query
from carryover.tasks.analysis.rendering import TableFormat, render_table, rich_table
from carryover.tasks.knapsack.signatures import describe_tools
from carryover.tasks.running.errors import UserError

LATEST_PLAN = """
select plan_digest
from runs
inner join run_ends on runs.run_id = run_ends.run_id
where runs.flow = 'reproduce_study' and run_ends.status = 'finished'
order by run_ends.finished_at desc
limit 1
"""
KNOWN_PLANS = "select plan_digest from runs group by plan_digest order by max(started_at) desc, plan_digest"
STUDY_TABLES = (*(f"table_{number:02d}" for number in (1, 2, 3, 5, 6, 7, 8, 9, 10)), "failure_percentages")
"""The tables of arXiv 2603.01209 that a plan has rows for."""
CONTRAST_TABLES = ("interaction", "token_ratios", "token_sensitivity")
"""What the cells of the 2x2 say against each other."""
GROUPS = ("variant", "base", "visibility", "header", "bucket", "measured_on")


def print_tables(
    warehouse: Warehouse, plan_digest: str | None, names: Sequence[str], table_format: TableFormat
) -> None:
    """Print tables of a plan, all of them where none is named; of the plan that finished last, where none is given.

    Raises:
        UserError: The table or the plan is not there.
    """
    digest = choose_plan(warehouse, plan_digest)
    console = screen()
    for position, query in enumerate(map(_find_query, names or table_names())):
        frame = read_table(warehouse, query, digest)
        if position > 0 and table_format != "csv":
            typer.echo()
        if table_format == "rich":
            console.print(rich_table(query.name, frame, title=f"{query.name}: {query.title}"))
        else:
            typer.echo(render_table(query.name, frame, table_format, title=query.title), nl=False)


def read_table(warehouse: Warehouse, query: TableQuery, plan_digest: str) -> pl.DataFrame:
    """Return a table's rows for a plan."""
    known = {"plan_digest": plan_digest, "tools_json": json.dumps(describe_tools())}
    return warehouse.sql(query.sql, **{name: known[name] for name in query.parameters}).polars()


def print_pictures(warehouse: Warehouse, plan_digest: str) -> None:
    """Print the 2x2 of every group of a plan."""
    console = screen()
    for key, group in cell_groups(warehouse, plan_digest):
        title = f"{describe_setting(**dict(zip(GROUPS, key, strict=True)))} ({key[-1]})"
        console.print(cells_text(cells_of(group), title))


def cell_groups(warehouse: Warehouse, plan_digest: str) -> list[tuple[tuple[str, ...], pl.DataFrame]]:
    """Return the rows of the table `cells` by the columns of `GROUPS`, in their order."""
    cells = read_table(warehouse, table_query("cells"), plan_digest)
    groups = cells.partition_by(GROUPS, maintain_order=True, as_dict=True)
    return [(tuple(map(str, key)), group) for key, group in groups.items()]


def choose_plan(warehouse: Warehouse, plan_digest: str | None) -> str:
    """Return the plan that was named, or without a name the digest of the one whose study finished last.

    Raises:
        UserError: The plan has no run here, or no study has finished.
    """
    if plan_digest is not None:
        known = [row[0] for row in warehouse.sql(KNOWN_PLANS).rows()]
        if plan_digest not in known:
            raise UserError(f"no run of plan {plan_digest!r}; the latest plans are {', '.join(known[:5])}")
        return plan_digest
    rows = warehouse.sql(LATEST_PLAN).rows()
    if not rows:
        raise UserError("no study has finished yet; `make demo` runs one, --plan names one that is still going")
    return rows[0][0]


def _find_query(name: str) -> TableQuery:
    try:
        return table_query(name)
    except ValueError as error:
        raise UserError(str(error)) from error
