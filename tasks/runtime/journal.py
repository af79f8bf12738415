"""Journal of an interpreter: enough to restore it by replay."""

import base64
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from carryover.tasks.runtime.contract import Contract
from carryover.tasks.runtime.engine import Block, CallInterruptedError
from carryover.tasks.runtime.objects import sealed
from carryover.tasks.runtime.results import Difference
from carryover.tasks.runtime.transfer import Fetched
from carryover.tasks.services.frozen_model import FrozenModel


class BlockObservation(NamedTuple):
    """Observation of a block, for comparison on replay."""

    output: str
    result: str | None
    error: str | None
    """The error text."""
    names: tuple[str, ...]
    """User names that existed when the block ended."""
    state_hash: str | None


Request = str
"""Tool, positional and keyword arguments, as JSON: parsed, what a block sent could take many times the room."""


def request_text(tool: str, arguments: list[Any], keywords: dict[str, Any], blob: Fetched | None = None) -> Request:
    """Return a call's text; a digest of arguments beyond JSON."""
    if blob is None:
        return json.dumps((tool, arguments, keywords))
    return json.dumps((tool, hashlib.sha256(blob.memory.view()).hexdigest()))


INTERRUPTED = "StepTimeout"
"""Type of the error in a reply whose tool was stopped by hand, and its block with it."""


class ToolReply(NamedTuple):
    """A tool call of a block with the reply that it got."""

    request: Request
    kept: tuple[Any, ...]
    """The reply as it went to the sandbox, but a value as JSON: a tool may go on changing what it returned."""

    def frame(self) -> tuple[Any, ...]:
        """Return the reply as it goes to the sandbox."""
        match self.kept:
            case ("value", text):
                return ("value", json.loads(text))
            case ("object", content, libraries):
                return ("object", Fetched(sealed(base64.b64decode(content)), tuple(libraries)))
        return self.kept


Replies = Callable[[], tuple[ToolReply, ...]]
"""Returns the tool calls of the block that ran, with their replies."""


@dataclass(frozen=True)
class Ran:
    """A block ran, and its names were kept by contract."""

    block: Block
    replies: tuple[ToolReply, ...]
    observed: BlockObservation
    kind: Literal["ran"] = "ran"

    @property
    def ended_anywhere(self) -> bool:
        """Whether a time limit ended the block, at an arbitrary place.

        One that was stopped by hand in a tool call stops at that call again.
        """
        if any(reply.kept[:2] == ("error", INTERRUPTED) for reply in self.replies):
            return False
        last_line = (self.observed.error or "").rpartition("\n")[2]
        return last_line.partition(":")[0] == INTERRUPTED

    def differences(self, replayed: BlockObservation, asked: Sequence[Request]) -> list[Difference]:
        """Return how a block differs when run again, in results and requests."""
        step = self.block.step
        found = [
            Difference(step, field, repr(old), repr(new))
            for field, old, new in zip(BlockObservation._fields, self.observed, replayed, strict=True)
            if old != new
        ]
        calls = f"[{', '.join(reply.request for reply in self.replies)}]"
        calls_again = f"[{', '.join(asked)}]"
        if calls != calls_again:
            found.append(Difference(step, "tool_calls", calls, calls_again))
        return found


@dataclass(frozen=True)
class Dropped:
    """A name was removed from outside."""

    name: str
    kind: Literal["dropped"] = "dropped"


@dataclass(frozen=True)
class Installed:
    """Something was injected, and is not kept.

    It may be no text, or be large, or be hidden from the agent.
    """

    name: str
    kind: Literal["installed"] = "installed"


Entry = Ran | Dropped | Installed


class Journal(FrozenModel):
    """A saved episode: contract, seeds, and what was done."""

    version: Literal[3] = 3
    contract: Contract
    instance_id: str
    salt: str
    step_count: int
    """Steps executed, those included that left no state."""
    entries: tuple[Annotated[Entry, Field(discriminator="kind")], ...]
    digests: dict[str, str] = Field(default={})
    """Digests of variables by name when it was saved, by the process's own claim; empty if no process answered."""


class RecordedAnswers:
    """Recorded replies in place of tools, for blocks run again."""

    def __init__(self, replies: tuple[ToolReply, ...]) -> None:
        self.asked: list[Request] = []
        """Requests of the block, up to one more than was recorded."""
        self._left = iter(replies)
        self._recorded_count = len(replies)

    def __call__(
        self, tool: str, arguments: list[Any], keywords: dict[str, Any], blob: Fetched | None = None
    ) -> tuple[Any, ...]:
        """Return the recorded reply, or an error after differing requests.

        Raise `CallInterruptedError` where the tool was stopped by hand when it was recorded.
        """
        request = request_text(tool, arguments, keywords, blob)
        expected = next(self._left, None)
        if len(self.asked) <= self._recorded_count:
            self.asked.append(request)
        if expected is None or request != expected.request:
            self._left = iter(())
            return ("error", "ToolRuntimeException", f"{tool}: no such call was recorded here", 0)
        if expected.kept[:2] == ("error", INTERRUPTED):
            raise CallInterruptedError(expected.frame())
        return expected.frame()


def changed_variables(step: int, recorded: Mapping[str, str], replayed: Mapping[str, str]) -> tuple[Difference, ...]:
    """Return a difference per variable of another digest.

    Empty if nothing was recorded.
    """
    names = []
    if recorded:
        names = sorted({*recorded, *replayed})
    pairs = ((name, recorded.get(name, "absent"), replayed.get(name, "absent")) for name in names)
    return tuple(Difference(step, f"variable {name}", old, new) for name, old, new in pairs if old != new)
