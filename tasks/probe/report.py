"""Probe reports as JSON, Markdown, a screen's table, or a page."""

import html
import json
from dataclasses import asdict
from io import StringIO
from typing import NamedTuple

from carryover.tasks.probe.probing import Event, ProbeReport
from carryover.tasks.probe.promise import Promise
from carryover.tasks.probe.verdict import AFTER
from carryover.tasks.services.errors import UserError

_KEPT_BY_RESET = f": kept after {AFTER['reset']}"
_GLOBALS = {True: "an earlier function sees live globals", False: "an earlier function sees old globals"}
_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color:#222}"
    "table{border-collapse:collapse;margin:1rem 0}td,th{border-bottom:1px solid #ddd;padding:.2rem .6rem;"
    "text-align:left}h1{font-size:1.4rem}td.kept{background:#e5f2e5}td.lost{background:#eee}td.stale{background:#f7d9d9}"
)


class Verdict(NamedTuple):
    """A claim, and how a runtime breaks it."""

    promise: Promise
    breaches: list[str]

    def lines(self, report: ProbeReport) -> list[str]:
        """Return the verdict as sentences, and a line per breach.

        What a reset leaves stands by itself: a prompt's promise is about blocks.
        """
        left = [breach for breach in self.breaches if breach.endswith(_KEPT_BY_RESET)]
        others = [breach for breach in self.breaches if breach not in left]
        lines = [self._head(report, others), *(f"- {breach}" for breach in others)]
        if left:
            channels = ", ".join(breach.removesuffix(_KEPT_BY_RESET) for breach in left)
            lines.append(f"its reset breaks the claim in {_ways(left)}, since it keeps: {channels}")
        return lines

    def _head(self, report: ProbeReport, others: list[str]) -> str:
        """Return the claim with its breaches' count, resets left out."""
        claim = self.promise.claim
        unprobed = f" ({len(report.reasons)} channels cannot be probed)" if report.reasons else ""
        promised = f", promised by {self.promise.sentence!r}" if self.promise.sentence else ""
        if not others:
            return f"{report.runtime} is {claim}, as claimed{promised}{unprobed}"
        return f"{report.runtime} claims to be {claim}{promised}, and breaks it in {_ways(others)}{unprobed}:"


def _ways(breaches: list[str]) -> str:
    return f"{len(breaches)} way{'s' if len(breaches) > 1 else ''}"


def report_json(report: ProbeReport, verdict: Verdict | None) -> str:
    """Return a report and its verdict as JSON; `holds` may be null."""
    judged: dict[str, object] = {"claim": None, "sentence": None, "holds": None, "breaches": []}
    if verdict is not None:
        claim, sentence = verdict.promise
        judged = {"claim": claim, "sentence": sentence, "holds": not verdict.breaches, "breaches": verdict.breaches}
    return json.dumps({**asdict(report), **judged}, indent=2) + "\n"


def read_report(text: str, name: str) -> ProbeReport:
    """Return a report from its JSON."""
    try:
        held = {"failures": {}, **json.loads(text)}
        fields = {field: held[field] for field in ProbeReport.__dataclass_fields__}
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{name} is no report of `carryover probe --format json`") from error
    return ProbeReport(**fields)


def report_markdown(report: ProbeReport) -> str:
    """Return a Markdown table of channels, and further findings."""
    heads = _heads(report)
    lines = [heads, ("---",) * len(heads), *_rows(report)]
    table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    return table + "".join(f"\n- {finding}" for finding in findings(report)) + "\n"


def report_screen(report: ProbeReport, width: int) -> str:
    """Return a table of channels for a screen, and further findings."""
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    title = f"probe of {report.runtime}"
    table = Table(*_heads(report), box=SIMPLE, title=title, title_justify="left")
    for row in _rows(report):
        table.add_row(*map(Text, row))
    console = Console(file=StringIO(), width=width)
    with console.capture() as capture:
        console.print(table)
    return capture.get() + "".join(f"{finding}\n" for finding in findings(report))


def report_page(report: ProbeReport, verdict: Verdict | None) -> str:
    """Return a self-contained HTML page."""
    title = html.escape(f"Probe of {report.runtime}")
    judged = verdict.lines(report) if verdict else []
    listed = "".join(f"<p>{html.escape(line)}</p>" for line in judged)
    heads = "".join(f"<th>{html.escape(head)}</th>" for head in _heads(report))
    rows = "".join(_page_row(row) for row in _rows(report))
    found = "".join(f"<li>{html.escape(finding)}</li>" for finding in findings(report))
    body = f"<h1>{title}</h1>{listed}<table><tr>{heads}</tr>{rows}</table><ul>{found}</ul>"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{_STYLE}</style></head><body>{body}</body></html>\n"
    )


def _page_row(row: tuple[str, ...]) -> str:
    channel, *outcomes = row
    cells = "".join(f'<td class="{outcome}">{outcome}</td>' for outcome in outcomes)
    return f"<tr><td>{html.escape(channel)}</td>{cells}</tr>"


def findings(report: ProbeReport) -> list[str]:
    """Return what a report says beside its channels, a sentence each."""
    found = []
    if report.version:
        found.append(f"version: {report.version}")
    found += [f"a read of a name lost after {AFTER[event]} is {read}" for event, read in report.lost_name_reads.items()]
    found += [f"after {AFTER[event]} {_GLOBALS[is_live]}" for event, is_live in report.live_globals.items()]
    found += [f"injected input, {what}: {outcome}" for what, outcome in report.inputs.items()]
    found += [f"hostile block, {what}: {outcome}" for what, outcome in report.hostile.items()]
    found += [f"{method}() raised {raised}" for method, raised in report.failures.items()]
    found += _not_offered(report)
    found += [f"{channel} cannot be probed: {reason}" for channel, reason in report.reasons.items()]
    return found


def _not_offered(report: ProbeReport) -> list[str]:
    missing = [words for event, words in AFTER.items() if event not in (*report.events, *report.failures)]
    if not missing:
        return []
    return [f"not probed, as the runtime offers none: {', '.join(missing)}"]


def _heads(report: ProbeReport) -> tuple[str, ...]:
    return ("channel", *(f"after {AFTER[event]}" for event in report.events))


def _rows(report: ProbeReport) -> list[tuple[str, ...]]:
    return [(channel, *_outcomes(report, channel)) for channel in report.channels]


def _outcomes(report: ProbeReport, channel: str) -> list[str]:
    unavailable = "unavailable" if channel in report.reasons else ""
    held: dict[Event, str] = dict(report.channels[channel])
    return [held.get(event, unavailable) for event in report.events]
