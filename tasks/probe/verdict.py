"""Judge what a runtime keeps against what it claims."""

from typing import Literal, get_args

from carryover.tasks.probe.channels import CHANNELS
from carryover.tasks.probe.probing import FAILED_BLOCK, Event, ProbeReport
from carryover.tasks.services.errors import UserError

Claim = Literal["persistent", "stateless"]

CONVENIENCES = frozenset({"last value", "event loop"})
"""Channels that are reported: no claim of persistence promises them."""
OUTSIDE = frozenset({"temporary file", "forked process"})
"""Channels outside the interpreter: a persistent runtime's reset may leave them."""
AFTER = {"block": "a block", "error": "an error", "reset": "a reset"}


def breaches(report: ProbeReport, claim: Claim) -> list[str]:
    """Return a sentence for each way in which a runtime breaks its claim; none where the claim holds.

    Raises:
        UserError: The claim is unknown, or the runtime did not even run a look for a name.
    """
    if claim not in get_args(Claim):
        raise UserError(f"unknown claim {claim!r}; choose from {', '.join(get_args(Claim))}")
    if "block" not in report.channels.get("global", {}):
        reason = report.reasons.get("global", "no name was planted")
        raise UserError(f"cannot probe {report.runtime}: {reason}; a block must print what its caller sees")
    if claim == "stateless":
        return _kept(report) + _silent_read(report)
    return _lost(report) + _kept_by_reset(report) + _silent_read(report) + _frozen_globals(report)


def is_promised(channel: str) -> bool:
    """Tell whether a claim of persistence promises a channel."""
    if channel == FAILED_BLOCK:
        return True
    return CHANNELS[channel].is_open_to_persistent and channel not in CONVENIENCES


def _kept(report: ProbeReport) -> list[str]:
    return [f"{channel}: kept after {AFTER[event]}" for channel, event in _with_outcome(report, "kept")]


def _lost(report: ProbeReport) -> list[str]:
    lost = [(channel, event) for channel, event in _with_outcome(report, "lost") if event != "reset"]
    return [f"{channel}: lost after {AFTER[event]}" for channel, event in lost if is_promised(channel)]


def _kept_by_reset(report: ProbeReport) -> list[str]:
    kept = [channel for channel, event in _with_outcome(report, "kept") if event == "reset"]
    return [f"{channel}: kept after a reset" for channel in kept if channel not in OUTSIDE]


def _with_outcome(report: ProbeReport, wanted: str) -> list[tuple[str, Event]]:
    found = []
    for channel, outcomes in report.channels.items():
        found += [(channel, event) for event, outcome in outcomes.items() if outcome == wanted]
    return found


def _silent_read(report: ProbeReport) -> list[str]:
    is_silent = report.lost_name_read == "silent"
    return ["reading a lost name raises no NameError"] if is_silent else []


def _frozen_globals(report: ProbeReport) -> list[str]:
    is_frozen = report.sees_live_globals is False
    return ["a function of an earlier block reads an old value of a global name"] if is_frozen else []
