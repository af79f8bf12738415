"""The command `probe`: what a runtime keeps, and whether as claimed."""

import typer

from carryover.flows.cli.screen import screen
from carryover.tasks.probe.connectors.choose import choose_runtime
from carryover.tasks.probe.formats import ProbeFormat
from carryover.tasks.probe.probing import probe
from carryover.tasks.probe.report import report_json, report_markdown, report_screen, verdict_sentence
from carryover.tasks.probe.verdict import Claim, breaches

BROKEN = 2
"""Exit code where a runtime breaks its claim."""


def report_probe(wanted: str, claim: Claim | None, layout: ProbeFormat) -> int:
    """Probe a runtime, print findings and verdict, and return the exit code."""
    report = probe(choose_runtime(wanted), wanted)
    found = breaches(report, claim) if claim else []
    match layout:
        case "json":
            typer.echo(report_json(report, claim, found), nl=False)
        case "markdown":
            typer.echo(report_markdown(report))
        case "rich":
            typer.echo(report_screen(report, screen().width), nl=False)
    if claim and layout != "json":
        typer.echo(verdict_sentence(report, claim, found))
        for sentence in found:
            typer.echo(f"- {sentence}")
    return BROKEN if found else 0
