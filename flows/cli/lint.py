"""The command `lint`: what the code of traces assumes about its interpreter, as a sentence, a table or a page."""

import json
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import typer

from carryover.flows.cli.exchange import default_plan
from carryover.flows.cli.screen import screen
from carryover.storage.warehouse.reader import Warehouse
from carryover.tasks.analysis.queries import command_sql
from carryover.tasks.analysis.rendering import render_table
from carryover.tasks.knapsack.environment import KNOWN_NAMES, TOOL_NAMES
from carryover.tasks.lint.against import lost_channels
from carryover.tasks.lint.formats import LintFormat
from carryover.tasks.lint.lint import TraceLint, lint_traces
from carryover.tasks.lint.linting import refuse_without_code
from carryover.tasks.lint.pool import lint_many
from carryover.tasks.lint.report import PageRows, flat_row, html_page, open_rows
from carryover.tasks.lint.summary import LintSummary
from carryover.tasks.readers.files import list_files
from carryover.tasks.readers.own_rows import traces_of_rows
from carryover.tasks.readers.reading import read_traces
from carryover.tasks.readers.tally import Tally
from carryover.tasks.readers.trace import Trace, contract_name
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.progress import no_bar, progress_bar
from carryover.tasks.services.whole_files import write_whole
from carryover.tasks.traces.vocabulary import ContractName

QUICK_BYTES = 1_000_000
"""Size of files up to which no progress is shown."""
FAILING = 2
"""Exit code where episodes would fail in the runtime of `--against`."""


def lint_files(files: list[Path], contract: str | None, tally: Tally) -> Iterator[TraceLint]:
    """Yield the findings about foreign files and folders, with a progress bar; `tally` counts what was not read."""
    declared = contract_name(contract)
    if declared is not None and declared not in set(ContractName):
        raise UserError(f"unknown contract {contract!r}; choose from {', '.join(ContractName)}")
    missing = [file for file in files if not file.exists()]
    if missing:
        raise UserError(f"no file {missing[0]}; name a trace file or a folder")
    size = sum(file.stat().st_size for path in files for file in list_files(path))
    open_bar = progress_bar if size > QUICK_BYTES else no_bar
    with open_bar("lint", size, "bytes") as advance:
        tally.show_bytes = advance
        yield from lint_many(_declared(trace, declared) for file in files for trace in read_traces(file, tally))


def lint_warehouse(warehouse: Warehouse, plan: str | None) -> Iterator[TraceLint]:
    """Yield the findings about a plan's counted episodes, as they are exported."""
    import polars as pl

    turns = warehouse.scan("turns")
    steps = warehouse.scan("steps")
    episodes = warehouse.sql(command_sql("counted_episodes"), plan_digest=default_plan(warehouse, plan)).polars()
    is_injecting = pl.col("shown_contract").str.starts_with(ContractName.INJECTED)
    for chosen, provided in ((~is_injecting, TOOL_NAMES), (is_injecting, (*TOOL_NAMES, *KNOWN_NAMES))):
        yield from lint_traces(traces_of_rows(episodes.filter(chosen), turns, steps), tools=provided)


def report_lint(
    found: Iterable[TraceLint],
    tally: Tally,
    *,
    against: str | None,
    per_trace: bool,
    format: LintFormat,
    save: Iterable[Path],
) -> int:
    """Print what was found and return the exit code; raise `UserError` where no code was read."""
    runtime = against or "stateless"
    summary = LintSummary(lost=lost_channels(runtime))
    page = PageRows()
    kept: list[TraceLint] = []
    pages = [path for path in save if path.suffix == ".html"]
    with ExitStack() as files:
        writers = [files.enter_context(open_rows(path)) for path in save if path.suffix != ".html"]
        for lint in summary.follow(found):
            page.add(lint)
            if per_trace:
                kept.append(lint)
            for write in writers:
                write(lint)
    refuse_without_code(summary, tally)
    verdict = summary.sentence(runtime)
    unread = tally.sentences()
    for path in pages:
        write_whole(path, html_page("Contract lint", summary, page.rows(), unread))
    for sentence in unread:
        typer.echo(sentence, err=True)
    rows = [flat_row(lint) for lint in kept] if per_trace else summary.rows()
    if format == "html":
        typer.echo(html_page("Contract lint", summary, page.rows(), unread), nl=False)
    elif format == "json":
        typer.echo(json.dumps({"verdict": verdict, "rows": rows, "unread": unread}, indent=2))
    else:
        typer.echo(verdict, err=format in ("csv", "latex"))
        typer.echo(_table(rows, format), nl=False)
    return FAILING if against and summary.failing_count else 0


def _table(rows: list[dict[str, Any]], format: Literal["rich", "markdown", "latex", "csv"]) -> str:
    import polars as pl

    texts = {name: pl.String for name, kind in TraceLint.__annotations__.items() if kind == (str | None)}
    schema = {name: kind for name, kind in texts.items() if rows and name in rows[0]}
    frame = pl.DataFrame(rows, schema_overrides=schema, infer_schema_length=None)
    return render_table("lint", frame, format, title="contract lint", width=screen().width)


def _declared(trace: Trace, contract: str | None) -> Trace:
    return trace if trace.declared_contract or contract is None else replace(trace, declared_contract=contract)
