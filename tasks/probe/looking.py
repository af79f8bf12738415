"""Looks for planted state, by blocks that print a mark."""

import ast
from typing import Any, Literal, NamedTuple

from carryover.tasks.probe.channels import Channel, setup
from carryover.tasks.probe.protocol import ProbedRuntime
from carryover.tasks.readers.outputs import missing_name, read_outcome
from carryover.tasks.services.errors import UserError

Outcome = Literal["kept", "lost", "stale", "unavailable"]
"""`stale`: an older value stands in the state's place."""

_FOUND = "carryover" + "-found"
_DONE = "carryover" + "-done"
_REASON_CHARACTERS = 120


class Look(NamedTuple):
    """Finding of a look for planted state."""

    is_there: bool | None
    """None where the runtime could not run the look."""
    text: str


def run_block(runtime: ProbedRuntime, code: str) -> str:
    """Run a block and return the text that its caller sees.

    What `run` raises is such a text, as a runtime may let a block's error through.
    """
    try:
        text: Any = runtime.run(code)
    except UserError:
        raise
    except Exception as error:  # noqa: BLE001 - a runtime of others may raise anything
        return f"run() raised {type(error).__name__}: {error}"
    if text is None or isinstance(text, str):
        return text or ""
    raise UserError(f"run(code) returned {type(text).__name__}; return the text that the block's caller sees")


def plant(runtime: ProbedRuntime, channel: Channel, token: int) -> str | None:
    """Write a channel's state; return null, or a failed write's text."""
    text = run_block(runtime, setup(channel, token) + _marked(channel.write))
    if _DONE in text:
        return None
    return text


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


def look(runtime: ProbedRuntime, channel: Channel, token: int) -> Look:
    """Run a channel's look; its last line is the expression that tells."""
    *before, expression = channel.probe.splitlines()
    lines = "".join(f"{line}\n" for line in before)
    code = f"{setup(channel, token)}{lines}print('carryover' + '-found:', bool({expression}))"
    text = run_block(runtime, code)
    if f"{_FOUND}: True" in text:
        return Look(True, text)
    is_missed = bool(channel.binds) and missing_name(text) == channel.binds
    if is_missed or f"{_FOUND}: False" in text:
        return Look(False, text)
    return Look(None, text)


def tells(runtime: ProbedRuntime, expression: str) -> bool | None:
    """Return whether an expression is true; null if it cannot run."""
    return look(runtime, Channel("", expression), 0).is_there


def outcome_of(runtime: ProbedRuntime, channel: Channel, token: int, found: Look) -> Outcome:
    """Return what became of a channel's state."""
    if found.is_there is None:
        return "unavailable"
    if found.is_there:
        return "kept"
    if channel.remnant and look(runtime, channel._replace(probe=channel.remnant), token).is_there:
        return "stale"
    return "lost"


def reason(text: str) -> str:
    """Return a failed look's error or last line as a reason."""
    lines = (read_outcome(text).error or text).strip().splitlines()
    if lines:
        cause = lines[-1].rpartition(" due to: ")[2].strip()
        return cause.partition(". ")[0][:_REASON_CHARACTERS]
    return "the runtime printed nothing"
