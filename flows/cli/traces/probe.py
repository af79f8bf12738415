"""The command `probe`: what a runtime keeps, and whether as claimed."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import typer

from carryover.flows.cli.screen import screen
from carryover.tasks.probe.channels import PROBED, Channel
from carryover.tasks.probe.connectors.choose import choose_runtime
from carryover.tasks.probe.formats import ProbeFormat
from carryover.tasks.probe.probing import NAMES, ProbeReport, probe
from carryover.tasks.probe.promise import read_promise
from carryover.tasks.probe.report import Verdict, report_json, report_markdown, report_page, report_screen
from carryover.tasks.probe.verdict import breaches, refuse_unprobed
from carryover.tasks.services.errors import UserError

BROKEN = 2
"""Exit code where a runtime breaks its claim."""


class ProbeRequest(NamedTuple):
    """Runtime to probe, with options."""

    runtime: str
    claims: str | None
    """A claim, or a file with the prompt that makes it."""
    python: str | None
    tool: str | None
    is_hostile: bool
    channels: Sequence[str]
    """Channels to probe beside names; none for all."""


def report_probe(request: ProbeRequest, layout: ProbeFormat) -> int:
    """Probe a runtime, print findings and verdict, and return the exit code."""
    promise = read_promise(request.claims) if request.claims else None
    chosen = choose_runtime(request.runtime, request.python, request.tool)
    report = probe(chosen, request.runtime, _chosen_channels(request.channels), is_hostile=request.is_hostile)
    refuse_unprobed(report)
    report.probed_on = datetime.now(UTC).date().isoformat()
    verdict = Verdict(promise, breaches(report, promise.claim)) if promise else None
    _print(report, verdict, layout)
    if verdict and verdict.breaches:
        return BROKEN
    return 0


def _chosen_channels(names: Sequence[str]) -> Mapping[str, Channel]:
    unknown = [name for name in names if name not in PROBED]
    if unknown:
        raise UserError(f"unknown channel {unknown[0]!r}; choose from {', '.join(PROBED)}")
    if not names:
        return PROBED
    return {name: PROBED[name] for name in dict.fromkeys((NAMES, *names))}


def _print(report: ProbeReport, verdict: Verdict | None, layout: ProbeFormat) -> None:
    match layout:
        case "json":
            typer.echo(report_json(report, verdict), nl=False)
            return
        case "html":
            typer.echo(report_page(report, verdict), nl=False)
            return
        case "markdown":
            typer.echo(report_markdown(report))
        case "rich":
            typer.echo(report_screen(report, screen().width), nl=False)
    for line in verdict.lines(report) if verdict else ():
        typer.echo(line)
