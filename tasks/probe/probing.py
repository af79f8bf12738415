"""Measurement of a runtime: plant state, let something happen, look."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from carryover.tasks.probe.channels import PROBED, TOKENS, Channel, simpler
from carryover.tasks.probe.hostile import probe_hostile
from carryover.tasks.probe.inputs import probe_inputs
from carryover.tasks.probe.looking import Outcome, look, outcome_of, plant, reason, run_block, tells
from carryover.tasks.probe.protocol import (
    InjectingRuntime,
    OfferedEvent,
    ProbedRuntime,
    VersionedRuntime,
    offered_events,
    offers,
)
from carryover.tasks.readers.outputs import missing_name
from carryover.tasks.services.errors import UserError

Called = TypeVar("Called")
Event = Literal["block", "error"] | OfferedEvent
Read = Literal["loud", "silent"]

NAMES = "global"
"""Channel of plain names."""
FAILED_BLOCK = "name of a failed block"
"""Channel of a name that a block binds before it raises."""


@dataclass
class ProbeReport:
    """State that a runtime keeps."""

    runtime: str
    channels: dict[str, dict[Event, Outcome]]
    """By channel, what became of its state after each event."""
    version: str = ""
    """Package and version, where the runtime tells them."""
    probed_on: str = ""
    """Date of the probe."""
    events: list[Event] = field(default_factory=list)
    """Events that happened, in order."""
    reasons: dict[str, str] = field(default_factory=dict)
    """By channel, why it cannot be probed."""
    lost_name_reads: dict[Event, Read] = field(default_factory=dict)
    """After each event that lost a name, whether reading it raises."""
    live_globals: dict[Event, bool] = field(default_factory=dict)
    """After a block and a resume, whether an earlier function sees a name that was bound again."""
    inputs: dict[str, str] = field(default_factory=dict)
    """What becomes of injected inputs; empty where the runtime injects none."""
    hostile: dict[str, str] = field(default_factory=dict)
    """What hostile blocks reached; empty where they did not run."""
    failures: dict[str, str] = field(default_factory=dict)
    """By method of the runtime, what it raised."""


def probe(
    runtime: ProbedRuntime, name: str, channels: Mapping[str, Channel] = PROBED, *, is_hostile: bool = False
) -> ProbeReport:
    """Return what a runtime keeps after each event that it offers.

    Hostile blocks run only where `is_hostile` asks for them. Raise `UserError` where the runtime does not open.
    """
    report = ProbeReport(name, {channel: {} for channel in channels})
    try:
        _open(runtime, report)
        if isinstance(runtime, VersionedRuntime):
            report.version = _call(report, "version", runtime.version) or ""
        available = _available(runtime, channels, report)
        _plant_and_look(runtime, available, "block", report)
        _note_live_globals(runtime, "block", report)
        _plant_and_look(runtime, available, "error", report)
        _note_failed_block(runtime, report)
        for event in _call(report, "offers", lambda: offered_events(runtime)) or []:
            _plant_and_look(runtime, available, event, report)
        if offers(runtime, "inject") and isinstance(runtime, InjectingRuntime):
            report.inputs = _call(report, "inject", lambda: probe_inputs(runtime)) or {}
        if is_hostile:
            report.hostile = probe_hostile(runtime)
    finally:
        _call(report, "close", runtime.close)
    return report


def _open(runtime: ProbedRuntime, report: ProbeReport) -> None:
    _call(report, "open", runtime.open)
    if "open" in report.failures:
        raise UserError(
            f"cannot open {report.runtime}: open() raised {report.failures['open']}; open() must start an interpreter"
        )


def _call(report: ProbeReport, method: str, call: Callable[[], Called]) -> Called | None:
    """Return what a method of the runtime returns; note what it raises."""
    try:
        return call()
    except UserError:
        raise
    except Exception as error:  # noqa: BLE001 - a runtime of others may raise anything
        report.failures[method] = f"{type(error).__name__}: {error}"
        return None


def _available(runtime: ProbedRuntime, channels: Mapping[str, Channel], report: ProbeReport) -> dict[str, Channel]:
    """Return the channels that can be probed; note why others cannot."""
    available = {}
    for name, channel in channels.items():
        tried = channel
        before = look(runtime, channel, TOKENS.start)
        if before.is_there is None:
            tried = simpler(channel)
            before = look(runtime, tried, TOKENS.start)
        if before.is_there is False:
            available[name] = tried
        elif before.is_there:
            report.reasons[name] = "its state is there before anything was planted"
        else:
            report.reasons[name] = reason(before.text)
    return available


def _plant_and_look(runtime: ProbedRuntime, channels: dict[str, Channel], event: Event, report: ProbeReport) -> None:
    token = random.SystemRandom().choice(TOKENS[1:])
    planted = {}
    for name, channel in channels.items():
        refusal = plant(runtime, channel, token)
        if refusal is None:
            planted[name] = channel
        else:
            report.reasons[name] = reason(refusal)
    _prepare_resumed_function(runtime, event)
    _call(report, event, lambda: _happen(runtime, event))
    if event in report.failures:
        return
    report.events.append(event)
    for name, channel in planted.items():
        found = look(runtime, channel, token)
        outcome = outcome_of(runtime, channel, token, found)
        report.channels[name][event] = outcome
        if outcome == "unavailable":
            report.reasons[name] = reason(found.text)
        if found.is_there and channel.undo:
            run_block(runtime, f"TOKEN = {token}\n{channel.undo}")
    if report.channels.get(NAMES, {}).get(event) == "lost":
        report.lost_name_reads[event] = _read_lost_name(runtime)
    if event == "resume":
        _note_live_globals(runtime, event, report)


def _read_lost_name(runtime: ProbedRuntime) -> Read:
    text = run_block(runtime, "print(x)")
    is_loud = "NameError" in text or missing_name(text) == "x"
    return "loud" if is_loud else "silent"


def _happen(runtime: ProbedRuntime, event: Event) -> None:
    if event == "error":
        run_block(runtime, "raise ValueError('carryover probe')")
    elif event != "block":
        getattr(runtime, event)()


def _note_failed_block(runtime: ProbedRuntime, report: ProbeReport) -> None:
    run_block(runtime, "bound_before_error = 1\nraise ValueError('carryover probe')")
    channel = Channel("", "bound_before_error == 1", binds="bound_before_error")
    report.channels[FAILED_BLOCK] = {"error": outcome_of(runtime, channel, 0, look(runtime, channel, 0))}


def _prepare_resumed_function(runtime: ProbedRuntime, event: Event) -> None:
    if event == "resume":
        run_block(runtime, "probed_rate = 1\ndef read_probed_rate():\n    return probed_rate")


def _note_live_globals(runtime: ProbedRuntime, event: Event, report: ProbeReport) -> None:
    """Note whether a function reads the newest value of a global name."""
    if event == "block":
        run_block(runtime, "probed_rate = 1\ndef read_probed_rate():\n    return probed_rate")
    run_block(runtime, "probed_rate = 2")
    is_live = tells(runtime, "read_probed_rate() == 2")
    if is_live is not None:
        report.live_globals[event] = is_live
