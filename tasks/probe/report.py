"""Probe reports as JSON, Markdown, or a table for a screen."""

import json
from dataclasses import asdict
from io import StringIO

from carryover.tasks.probe.probing import ProbeReport
from carryover.tasks.probe.verdict import Claim

HEADS = ("channel", "after a block", "after an error", "after a reset")
_GLOBALS = {True: "a function sees live globals", False: "a function sees old globals"}


def verdict_sentence(report: ProbeReport, claim: Claim, found: list[str]) -> str:
    """Return the verdict in a sentence."""
    unprobed = f" ({len(report.reasons)} channels cannot be probed)" if report.reasons else ""
    if not found:
        return f"{report.runtime} is {claim}, as claimed{unprobed}"
    return f"{report.runtime} claims to be {claim} and breaks it in {len(found)} ways{unprobed}:"


def report_json(report: ProbeReport, claim: Claim | None, found: list[str]) -> str:
    """Return a report and its verdict as JSON; `holds` is null without a claim."""
    verdict = {"claim": claim, "holds": None if claim is None else not found, "breaches": found}
    return json.dumps({**asdict(report), **verdict}, indent=2) + "\n"


def report_markdown(report: ProbeReport) -> str:
    """Return a row per channel as a Markdown table, and what else was found."""
    lines = [HEADS, ("---",) * len(HEADS), *_rows(report)]
    table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    return table + "".join(f"\n- {finding}" for finding in _findings(report)) + "\n"


def report_screen(report: ProbeReport, width: int) -> str:
    """Return a row per channel as a table for a screen, and what else was found."""
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*HEADS, box=SIMPLE, title=f"probe of {report.runtime}", title_justify="left")
    for row in _rows(report):
        table.add_row(*map(Text, row))
    console = Console(file=StringIO(), width=width)
    with console.capture() as capture:
        console.print(table)
    return capture.get() + "".join(f"{finding}\n" for finding in _findings(report))


def _rows(report: ProbeReport) -> list[tuple[str, str, str, str]]:
    rows = []
    for channel, outcomes in report.channels.items():
        unavailable = "unavailable" if channel in report.reasons else ""
        block = outcomes.get("block", unavailable)
        error = outcomes.get("error", unavailable)
        reset = outcomes.get("reset", unavailable)
        rows.append((channel, block, error, reset))
    return rows


def _findings(report: ProbeReport) -> list[str]:
    findings = []
    if report.lost_name_read:
        findings.append(f"a read of a lost name is {report.lost_name_read}")
    if report.sees_live_globals is not None:
        findings.append(_GLOBALS[report.sees_live_globals])
    findings += [f"{channel} cannot be probed: {reason}" for channel, reason in report.reasons.items()]
    return findings
