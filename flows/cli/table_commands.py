"""Commands on the warehouse: queries, tables, verdicts, figures, the report."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from carryover.flows.cli.folders import choose_plan, find_folders, open_warehouse
from carryover.flows.cli.options import Format, Home, Plan, Results
from carryover.flows.cli.screen import screen
from carryover.tasks.services.folders import name_folders
from carryover.tasks.services.progress import progress_bar

SCREEN_ROWS = 200
"""Rows of a query that are drawn for a screen: each takes milliseconds, and a warehouse has millions."""


def query(sql: str, home: Home = None, format: Format = "rich") -> None:
    """Run one SQL query against the warehouse and print the rows."""
    from carryover.tasks.analysis.rendering import render_table

    with open_warehouse(home) as warehouse:
        rows = warehouse.sql(sql).polars()
    shown = rows.head(SCREEN_ROWS) if format == "rich" else rows
    typer.echo(render_table("query", shown, format, layout="plain", width=screen().width), nl=False)
    if shown.height < rows.height:
        typer.echo(f"the first {shown.height} of {rows.height:,} rows; --format csv prints all", err=True)


def schema(
    relation: Annotated[str | None, typer.Argument(help="A table or view, e.g. episodes; default: all.")] = None,
    format: Format = "rich",
) -> None:
    """Describe the warehouse: every table and view, or the columns of one."""
    from carryover.storage.warehouse.schema_reference import describe_schema
    from carryover.tasks.analysis.rendering import render_table

    frame = describe_schema(relation)
    typer.echo(render_table("schema", frame, format, layout="plain", width=screen().width), nl=False)


def tables(
    name: Annotated[
        str | None, typer.Argument(help="One table, e.g. table_2; default: all, on a screen without claims.")
    ] = None,
    home: Home = None,
    format: Format = "rich",
    plan: Plan = None,
    results: Results = None,
) -> None:
    """Print the study's tables: ours beside the published values."""
    from carryover.flows.cli.results.tables import print_plan, print_tables

    with open_warehouse(home, results) as warehouse:
        digest = choose_plan(warehouse, plan)
        if name is None:
            print_plan(warehouse, digest, format)
        else:
            print_tables(warehouse, digest, [name], format)


def hypotheses(home: Home = None, format: Format = "rich", plan: Plan = None, results: Results = None) -> None:
    """Print each claim of the study with measurement and verdict."""
    from carryover.flows.cli.results.tables import print_verdicts

    with open_warehouse(home, results) as warehouse:
        print_verdicts(warehouse, choose_plan(warehouse, plan), format)


def keep(
    folder: Path,
    home: Home = None,
    plan: Annotated[
        list[str] | None, typer.Option(help="Digest of a plan, repeatable; default: the latest finished plan.")
    ] = None,
    where: Annotated[str, typer.Option(help="SQL condition on marts.episode_metrics; default: all.")] = "true",
    recompute: Annotated[
        bool, typer.Option("--recompute", help="Only compute the statistics of the kept rows again.")
    ] = False,
) -> None:
    """Keep a study's rows per episode, without text, for `--results`."""
    from carryover.tasks.analysis.compute import kept_statistics
    from carryover.tasks.stages.results import keep_results, write_statistics

    compute = partial(kept_statistics, open_bar=progress_bar)
    if recompute:
        typer.echo(f"{write_statistics(folder, compute)} statistics in {folder}")
        return
    with open_warehouse(home) as warehouse:
        plans = [choose_plan(warehouse, digest) for digest in plan or [None]]
        count = keep_results(warehouse, plans, folder, compute, where)
    typer.echo(f"{count} episodes in {folder}")


def questions(
    number: Annotated[int | None, typer.Argument(help="One question; default: all ten.")] = None,
    home: Home = None,
    write: Annotated[
        Path | None,
        typer.Option(
            "--write",
            help="Copy of sql/questions.md to write answers into: 1 to 5 with `--results`, those on traces without.",
        ),
    ] = None,
    plan: Plan = None,
    results: Results = None,
) -> None:
    """Ask the ten questions of sql/questions.md, with query and answer."""
    from carryover.flows.cli.results.tables import print_questions, write_answers
    from carryover.tasks.analysis.questions import ABOUT_EPISODES, ABOUT_TRACES

    with open_warehouse(home, results) as warehouse:
        digest = choose_plan(warehouse, plan)
        if write is None:
            print_questions(warehouse, digest, number)
            return
        written = write_answers(warehouse, digest, write, ABOUT_EPISODES if results else ABOUT_TRACES)
    typer.echo(f"answers {', '.join(map(str, written))} written into {write}")


def figures(
    home: Home = None,
    plan: Plan = None,
    folder: Annotated[
        Path | None, typer.Option(help="Folder of the files; default: documents/figures in the data folder.")
    ] = None,
    results: Results = None,
) -> None:
    """Draw the 2x2 and Figures 2 and 3 as captioned SVG."""
    from carryover.flows.cli.results.documents import write_figures

    target = folder or _documents(home, results) / "figures"
    with open_warehouse(home, results) as warehouse:
        digest = choose_plan(warehouse, plan)
        if folder is None:
            target.parent.mkdir(parents=True, exist_ok=True)
        for path in write_figures(warehouse, digest, target):
            typer.echo(path)


def report(
    home: Home = None,
    plan: Plan = None,
    path: Annotated[
        Path | None, typer.Option(help="The page; default: documents/report.html in the data folder.")
    ] = None,
    results: Results = None,
) -> None:
    """Write one self-contained HTML page: tables, figures, claims, plan and environment."""
    from carryover.flows.cli.results.documents import write_report

    target = path or _documents(home, results) / "report.html"
    with open_warehouse(home, results) as warehouse:
        digest = choose_plan(warehouse, plan)
        if path is None:
            target.parent.mkdir(parents=True, exist_ok=True)
        typer.echo(write_report(warehouse, digest, target))


def _documents(home: Path | None, results: str | None) -> Path:
    """Return the data folder's documents.

    Raise `UserError` if there is no data folder; kept results need none, and one is made for theirs.
    """
    if results is not None:
        return name_folders(home).documents
    return find_folders(home).documents
