"""What a probed runtime loses, in the channels of the lint."""

from pathlib import Path

from carryover.tasks.lint.against import Losses
from carryover.tasks.probe.probing import FAILED_BLOCK, Event, ProbeReport
from carryover.tasks.probe.published import REPORTS
from carryover.tasks.probe.report import read_report
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.text import read_text_file

PROBED: dict[str, tuple[str, ...]] = {
    "names": ("global", "import", "function", "class"),
    "files": ("temporary file",),
    "environment": ("environment",),
    "directory": ("working directory",),
    "packages": ("installed package",),
    "processes": ("forked process",),
    "figures": ("figure",),
}
"""Channels of the lint, each with those of the probe that it stands for."""


def read_losses(wanted: str) -> Losses:
    """Return a runtime's losses by a report's file or name."""
    path = Path(wanted)
    published = REPORTS / f"{wanted}.json"
    if not path.is_file():
        path = published
    if not path.is_file():
        names = ", ".join(sorted(report.stem for report in REPORTS.glob("*.json")))
        raise UserError(f"no report {wanted!r}; name a file of `carryover probe --format json`, or one of {names}")
    return losses_of_report(read_report(read_text_file(path), wanted))


def losses_of_report(report: ProbeReport) -> Losses:
    """Return the channels that a report shows to be lost."""
    unknown = frozenset(channel for channel, probed in PROBED.items() if not _is_known(report, probed))
    drops_names = report.channels.get(FAILED_BLOCK, {}).get("error") == "lost"
    return Losses(
        report.runtime,
        _lost(report, "block"),
        _lost(report, "error"),
        frozenset({"names"}) if drops_names else frozenset(),
        unknown,
    )


def _lost(report: ProbeReport, event: Event) -> frozenset[str]:
    lost = set()
    for channel, probed in PROBED.items():
        outcomes = {report.channels.get(name, {}).get(event) for name in probed}
        if outcomes & {"lost", "stale"}:
            lost.add(channel)
    return frozenset(lost)


def _is_known(report: ProbeReport, probed: tuple[str, ...]) -> bool:
    return any("block" in report.channels.get(name, {}) for name in probed)
