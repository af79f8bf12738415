"""The published table: what known runtimes keep, from the reports in `reports/`.

`python -m carryover.tasks.probe.published` prints it as it stands in `published.md`.
"""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import get_args

from carryover.tasks.probe.probing import FAILED_BLOCK, NAMES, Event, ProbeReport
from carryover.tasks.probe.report import read_report
from carryover.tasks.probe.verdict import AFTER, Claim, breaches

REPORTS = Path(__file__).with_name("reports")
_SIGNS = {"kept": "kept", "lost": "·", "stale": "stale", "unavailable": "?", None: "?"}
_SHOWN: tuple[Event, ...] = ("block", "reset")
"""Events that have a table of all channels."""


def published_reports() -> list[ProbeReport]:
    """Return the published reports in order of their runtimes' names."""
    return [read_report(path.read_text(encoding="utf-8"), path.name) for path in sorted(REPORTS.glob("*.json"))]


def published_tables(reports: Sequence[ProbeReport]) -> str:
    """Return the tables of runtimes and of their channels as Markdown."""
    parts = [_runtimes(reports), *(_channels(reports, event) for event in _SHOWN)]
    return "\n".join(parts)


def _runtimes(reports: Sequence[ProbeReport]) -> str:
    heads = ("runtime", "version", "probed on", *(f"names after {words}" for words in AFTER.values()))
    more = ("names of a failed block", "earlier function sees live globals", "change in an injected list")
    judged = ("breaches of persistent", "breaches of stateless")
    rows = [_runtime_row(report) for report in reports]
    return _table((*heads, *more, *judged), rows)


def _runtime_row(report: ProbeReport) -> tuple[str, ...]:
    names = report.channels[NAMES]
    failed = report.channels[FAILED_BLOCK].get("error")
    live = ", ".join(f"{_yes(is_live)} after {AFTER[event]}" for event, is_live in report.live_globals.items())
    change = report.inputs.get("change in place", "").partition(":")[0]
    after = [_fate(report, event, names.get(event)) for event in AFTER]
    judged = [str(len(breaches(report, claim))) for claim in get_args(Claim)]
    return (report.runtime, report.version, report.probed_on, *after, _SIGNS[failed], live, change, *judged)


def _fate(report: ProbeReport, event: Event, outcome: str | None) -> str:
    if event not in report.events:
        return ""
    if event in report.lost_name_reads:
        return f"lost, {report.lost_name_reads[event]}"
    return outcome or "?"


def _yes(is_live: bool) -> str:
    return "yes" if is_live else "no"


def _channels(reports: Sequence[ProbeReport], event: Event) -> str:
    shown = [report for report in reports if event in report.events]
    channels = dict.fromkeys(chain.from_iterable(report.channels for report in shown))
    channels.pop(FAILED_BLOCK, None)
    rows = [(channel, *(_sign(report, channel, event) for report in shown)) for channel in channels]
    return _table((f"after {AFTER[event]}", *(report.runtime for report in shown)), rows)


def _sign(report: ProbeReport, channel: str, event: Event) -> str:
    return _SIGNS[report.channels.get(channel, {}).get(event)]


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    print(published_tables(published_reports()), end="")
