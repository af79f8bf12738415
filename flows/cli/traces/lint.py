"""The command `lint`: findings as a sentence, a table or a page."""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from carryover.flows.cli.screen import screen
from carryover.tasks.lint.against import Losses, failing_steps, losses_of
from carryover.tasks.lint.formats import LintFormat
from carryover.tasks.lint.lint import TraceLint, lint_traces
from carryover.tasks.lint.linting import refuse_without_code, with_contract
from carryover.tasks.lint.pool import lint_many
from carryover.tasks.lint.report import PageRows, flat_row, html_page, open_rows
from carryover.tasks.lint.summary import LintSummary
from carryover.tasks.lint.tables import contract_table, episode_table
from carryover.tasks.readers.files import list_files
from carryover.tasks.readers.reading import read_traces
from carryover.tasks.readers.tally import Tally
from carryover.tasks.readers.trace import Trace, contract_name
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.progress import no_bar, progress_bar
from carryover.tasks.services.whole_files import written_whole
from carryover.tasks.traces.vocabulary import PAPER_FAMILY, ContractName

if TYPE_CHECKING:
    from carryover.storage.warehouse.reader import Warehouse

TITLE = "Contract lint"
PAGE = ".html"
QUICK_BYTES = 1_000_000
"""Size of files up to which no progress is shown."""
FAILING = 2
"""Exit code where episodes would fail in the runtime of `--against` or `--runtime`."""


def lint_files(files: list[Path], contract: str | None, tally: Tally) -> Iterator[TraceLint]:
    """Yield findings about foreign files, with a progress bar.

    `tally` counts what was not read.
    """
    declared = contract_name(contract)
    if declared is not None and declared not in set(ContractName):
        raise UserError(f"unknown contract {contract!r}; choose from {', '.join(ContractName)}")
    missing = [file for file in files if not file.exists()]
    if missing:
        raise UserError(f"no file {missing[0]}; name a trace file or a folder")
    found = chain.from_iterable(map(list_files, files))
    size = sum(file.stat().st_size for file in found)
    open_bar = progress_bar if size > QUICK_BYTES else no_bar
    with open_bar("lint", size, "bytes") as advance:
        tally.show_bytes = advance
        yield from lint_many(_traces(files, declared, tally))


def lint_warehouse(warehouse: "Warehouse", plan: str | None) -> Iterator[TraceLint]:
    """Yield the findings about a plan's counted episodes, as they are exported."""
    import polars as pl

    from carryover.flows.cli.traces.exchange import default_plan
    from carryover.tasks.analysis.queries import command_sql
    from carryover.tasks.readers.own_rows import traces_of_rows

    turns = warehouse.scan("turns")
    steps = warehouse.scan("steps")
    episodes = warehouse.sql(command_sql("counted_episodes"), plan_digest=default_plan(warehouse, plan)).polars()
    is_injecting = pl.col("shown_contract").str.starts_with(ContractName.INJECTED)
    described = names_of_the_host(warehouse)
    for family in episodes["family"].unique(maintain_order=True):
        tools, known = described.get(family, described[PAPER_FAMILY])  # nothing describes imported episodes
        is_own = pl.col("family").eq_missing(family)
        for chosen, provided in ((~is_injecting, tools), (is_injecting, (*tools, *known))):
            yield from lint_traces(traces_of_rows(episodes.filter(is_own & chosen), turns, steps), tools=provided)


class _HostNames(NamedTuple):
    """Names that blocks find without binding them."""

    tools: tuple[str, ...]
    known: tuple[str, ...]
    """Bound by contracts with injection."""


def names_of_the_host(warehouse: "Warehouse") -> dict[str, _HostNames]:
    """Return the names that each family's host provides, by family."""
    from carryover.tasks.analysis.queries import command_sql
    from carryover.tasks.knapsack.environment import KNOWN_NAMES, TOOL_NAMES

    names = {PAPER_FAMILY: _HostNames(TOOL_NAMES, KNOWN_NAMES)}
    for family, spec_json in warehouse.sql(command_sql("described_families")).rows():
        spec = json.loads(spec_json)
        before = names.get(family, _HostNames((), ()))  # instances may differ in their tools
        tools = dict.fromkeys([*before.tools, *spec["tools"]])
        known = dict.fromkeys([*before.known, *spec["known"]])
        names[family] = _HostNames(tuple(tools), tuple(known))
    return names


def choose_losses(against: str | None, probed: str | None) -> Losses:
    """Return the losses of a kind of runtime, or a probed one."""
    if against and probed:
        raise UserError("--against and --runtime both name a runtime; give one")
    if probed is None:
        return losses_of(against or "stateless")
    from carryover.tasks.lint.probed import read_losses

    return read_losses(probed)


class LintOutput(NamedTuple):
    """Places that findings go to."""

    format: LintFormat
    per_trace: bool
    """Whether a row per trace is printed instead of the summary."""
    save: Sequence[Path]
    """Files for the rows per trace, and pages."""
    exits_failing: bool = False
    """Whether episodes that fail have an exit code."""


def report_lint(found: Iterable[TraceLint], tally: Tally, losses: Losses, output: LintOutput) -> int:
    """Print the findings and return the exit code.

    Raise `UserError` where no code was read.
    """
    summary = LintSummary(losses)
    page = PageRows()
    rows = _count(summary.follow(found), page, losses, output)
    refuse_without_code(summary, tally)
    unread = tally.sentences()
    for sentence in ([tally.read_sentence()] if tally.trace_count else []) + unread:
        typer.echo(sentence, err=True)
    written = html_page(TITLE, summary, page.rows(), unread)
    for path in output.save:
        if path.suffix == PAGE:
            with written_whole(path) as unfinished:
                unfinished.write_text(written, encoding="utf-8")
    if output.format == "html":
        typer.echo(written, nl=False)
    else:
        _print(summary.sentence(), rows or summary.rows(), unread, output)
    if output.exits_failing and summary.failing_count:
        return FAILING
    return 0


def _count(found: Iterable[TraceLint], page: PageRows, losses: Losses, output: LintOutput) -> list[dict[str, Any]]:
    """Count the findings, save their rows, and return those to print."""
    rows = []
    with ExitStack() as files:
        writers = [files.enter_context(open_rows(path)) for path in output.save if path.suffix != PAGE]
        for lint in found:
            page.add(lint)
            if output.per_trace:
                steps = "; ".join(map(str, failing_steps(lint, losses)))
                rows.append(flat_row(lint) | {"failing_steps": steps})
            for write in writers:
                write(lint)
    return rows


def _print(verdict: str, rows: list[dict[str, Any]], unread: list[str], output: LintOutput) -> None:
    if output.format == "json":
        typer.echo(json.dumps({"verdict": verdict, "rows": rows, "unread": unread}, indent=2))
    elif output.format in ("rich", "markdown", "csv"):
        typer.echo(verdict, err=output.format == "csv")
        draw = episode_table if output.per_trace else contract_table
        typer.echo(draw(rows, output.format, screen().width), nl=False)


def _traces(files: list[Path], contract: str | None, tally: Tally) -> Iterator[Trace]:
    for file in files:
        for trace in read_traces(file, tally):
            yield with_contract(trace, contract)
