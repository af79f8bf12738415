"""Measure what a runtime keeps: plant state in each channel, let something happen, look for it."""

import ast
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from carryover.tasks.probe.channels import CHANNELS, TOKENS, Channel, setup
from carryover.tasks.probe.protocol import ProbedRuntime, ResettableRuntime

Event = Literal["block", "error", "reset"]
Outcome = Literal["kept", "lost", "unavailable"]
Read = Literal["loud", "silent"]

FAILED_BLOCK = "name of a failed block"
"""Channel of a name that a block binds before it raises."""
_MARK = "carryover" + "-found"
_DONE = "carryover" + "-done"
_TOLD_CHARACTERS = 200


@dataclass
class ProbeReport:
    """What a runtime keeps."""

    runtime: str
    channels: dict[str, dict[Event, Outcome]]
    """By channel, what became of its state after each event."""
    reasons: dict[str, str] = field(default_factory=dict)
    """By channel, why it cannot be probed."""
    lost_name_read: Read | None = None
    """Whether reading a lost name raises; None where no name was lost."""
    sees_live_globals: bool | None = None
    """Whether a function of an earlier block sees a name that was bound again; None where functions are lost."""


class Look(NamedTuple):
    """What a look for planted state found."""

    is_there: bool | None
    """None where the runtime could not run the look."""
    text: str


def probe(runtime: ProbedRuntime, name: str, channels: Mapping[str, Channel] = CHANNELS) -> ProbeReport:
    """Return what a runtime keeps after a block, an error and a reset.

    A runtime without `reset` has no outcome for it.
    """
    report = ProbeReport(name, {channel: {} for channel in channels})
    runtime.open()
    try:
        available = _available(runtime, channels, report)
        _plant_and_look(runtime, available, "block", report)
        report.sees_live_globals = _sees_live_globals(runtime)
        _look_after_error(runtime, available, report)
        if isinstance(runtime, ResettableRuntime):
            _plant_and_look(runtime, available, "reset", report)
        report.lost_name_read = _read_lost_name(runtime, report)
    finally:
        runtime.close()
    return report


def _available(runtime: ProbedRuntime, channels: Mapping[str, Channel], report: ProbeReport) -> dict[str, Channel]:
    """Return the channels whose look works and finds nothing yet; note why the others cannot be probed."""
    available = {}
    for name, channel in channels.items():
        before = _look(runtime, channel, TOKENS.start)
        if before.is_there is False:
            available[name] = channel
            continue
        found = "its state is there before anything was planted"
        _leave_out(report, name, found if before.is_there else before.text)
    return available


def _plant_and_look(runtime: ProbedRuntime, channels: dict[str, Channel], event: Event, report: ProbeReport) -> None:
    token = random.SystemRandom().choice(TOKENS[1:])
    planted = {}
    for name, channel in channels.items():
        told = runtime.run(setup(channel, token) + _marked(channel.write))
        if _DONE in told:
            planted[name] = channel
        else:
            _leave_out(report, name, told)
    _happen(runtime, event)
    for name, channel in planted.items():
        look = _look(runtime, channel, token)
        report.channels[name][event] = _outcome(look)
        if look.is_there is None:
            _leave_out(report, name, look.text)


def _marked(write: str) -> str:
    """Return a block that prints when it has run.

    An expression stays the last line, as its value is what is planted.
    """
    mark = "print('carryover' + '-done')"
    try:
        ast.parse(write, mode="eval")
    except SyntaxError:
        return f"{write}\n{mark}"
    return f"{mark}\n{write}"


def _happen(runtime: ProbedRuntime, event: Event) -> None:
    if event == "error":
        runtime.run("raise ValueError('carryover probe')")
    elif event == "reset" and isinstance(runtime, ResettableRuntime):
        runtime.reset()


def _look_after_error(runtime: ProbedRuntime, channels: dict[str, Channel], report: ProbeReport) -> None:
    _plant_and_look(runtime, channels, "error", report)
    runtime.run("bound_before_error = 1\nraise ValueError('carryover probe')")
    look = _look(runtime, Channel("", "'bound_before_error' in globals()"), TOKENS.start)
    report.channels[FAILED_BLOCK] = {"error": _outcome(look)}


def _look(runtime: ProbedRuntime, channel: Channel, token: int) -> Look:
    """Run a channel's look; its last line is the expression that tells."""
    *before, expression = channel.probe.splitlines()
    lines = "".join(f"{line}\n" for line in before)
    text = runtime.run(f"{setup(channel, token)}{lines}print('carryover' + '-found:', bool({expression}))")
    if f"{_MARK}: True" in text:
        return Look(True, text)
    if f"{_MARK}: False" in text:
        return Look(False, text)
    return Look(None, text)


def _outcome(look: Look) -> Outcome:
    if look.is_there is None:
        return "unavailable"
    return "kept" if look.is_there else "lost"


def _leave_out(report: ProbeReport, name: str, text: str) -> None:
    lines = text.strip().splitlines()
    report.reasons[name] = lines[-1][:_TOLD_CHARACTERS] if lines else "the runtime printed nothing"


def _sees_live_globals(runtime: ProbedRuntime) -> bool | None:
    """Tell whether a function reads the newest value of a global name."""
    runtime.run("probed_rate = 1\ndef read_probed_rate():\n    return probed_rate")
    runtime.run("probed_rate = 2")
    text = runtime.run("print('carryover' + '-found:', read_probed_rate() == 2)")
    if f"{_MARK}: True" in text:
        return True
    return False if f"{_MARK}: False" in text else None


def _read_lost_name(runtime: ProbedRuntime, report: ProbeReport) -> Read | None:
    """Read the planted name `x` where the last event lost it."""
    outcomes = list(report.channels.get("global", {}).values())
    if not outcomes or outcomes[-1] != "lost":
        return None
    return "loud" if "NameError" in runtime.run("print(x)") else "silent"
