"""Judge what a runtime keeps against what it claims."""

from typing import Literal, get_args

from carryover.tasks.probe.channels import PROBED
from carryover.tasks.probe.looking import Outcome
from carryover.tasks.probe.probing import FAILED_BLOCK, NAMES, Event, ProbeReport
from carryover.tasks.services.errors import UserError

Claim = Literal["persistent", "stateless"]

CONVENIENCES = frozenset({"last value", "event loop", "figure"})
"""Channels that are reported: no claim of persistence promises them."""
OUTSIDE = frozenset({"temporary file", "forked process", "installed package"})
"""Channels outside the interpreter: a persistent runtime's reset may leave them."""
AFTER: dict[Event, str] = {
    "block": "a block",
    "error": "an error",
    "time_out": "a time-out",
    "resume": "a resume",
    "reset": "a reset",
    "kill": "a kill",
}
_PERSISTING = frozenset[Event]({"block", "error", "time_out", "resume"})
"""Events that a persistent runtime's state outlives."""


def breaches(report: ProbeReport, claim: Claim) -> list[str]:
    """Return a sentence for each breach of a runtime's claim.

    Raises:
        UserError: The claim is unknown, or the runtime did not even run a look for a name.
    """
    if claim not in get_args(Claim):
        raise UserError(f"unknown claim {claim!r}; choose from {', '.join(get_args(Claim))}")
    refuse_unprobed(report)
    failed = _failed_events(report)
    if claim == "stateless":
        return failed + _kept(report) + _stale(report) + _silent_reads(report)
    kept = _kept_by_reset(report)
    return failed + _lost(report) + _stale(report) + kept + _silent_reads(report) + _frozen_globals(report)


def refuse_unprobed(report: ProbeReport) -> None:
    """Raise `UserError` where no block could look for a name."""
    if "block" not in report.channels.get(NAMES, {}):
        reason = report.reasons.get(NAMES, "no name was planted")
        raise UserError(f"cannot probe {report.runtime}: {reason}; a block must print what its caller sees")


def is_promised(channel: str) -> bool:
    """Tell whether a claim of persistence promises a channel."""
    if channel == FAILED_BLOCK:
        return True
    return PROBED[channel].is_open_to_persistent and channel not in CONVENIENCES


def _failed_events(report: ProbeReport) -> list[str]:
    failed = [(words, report.failures[event]) for event, words in AFTER.items() if event in report.failures]
    return [f"{words} raises {raised}" for words, raised in failed]


def _kept(report: ProbeReport) -> list[str]:
    return [f"{channel}: kept after {AFTER[event]}" for channel, event in _with_outcome(report, "kept")]


def _lost(report: ProbeReport) -> list[str]:
    lost = _with_outcome(report, "lost")
    return [
        f"{channel}: lost after {AFTER[event]}"
        for channel, event in lost
        if event in _PERSISTING and is_promised(channel)
    ]


def _stale(report: ProbeReport) -> list[str]:
    stale = _with_outcome(report, "stale")
    return [f"{channel}: an older value stands in its place after {AFTER[event]}" for channel, event in stale]


def _kept_by_reset(report: ProbeReport) -> list[str]:
    kept = [channel for channel, event in _with_outcome(report, "kept") if event == "reset"]
    return [f"{channel}: kept after a reset" for channel in kept if channel not in OUTSIDE]


def _with_outcome(report: ProbeReport, wanted: Outcome) -> list[tuple[str, Event]]:
    found = []
    for channel, outcomes in report.channels.items():
        found += [(channel, event) for event, outcome in outcomes.items() if outcome == wanted]
    return found


def _silent_reads(report: ProbeReport) -> list[str]:
    silent: list[Event] = [event for event, read in report.lost_name_reads.items() if read == "silent"]
    return [f"reading a name that is lost after {AFTER[event]} raises no NameError" for event in silent]


def _frozen_globals(report: ProbeReport) -> list[str]:
    frozen: list[Event] = [event for event, is_live in report.live_globals.items() if not is_live]
    return [f"after {AFTER[event]} an earlier function reads an old value of a global name" for event in frozen]
