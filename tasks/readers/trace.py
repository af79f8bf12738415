"""A trace as readers return it: replies, blocks, results."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain
from typing import Any, Literal, NamedTuple

from carryover.tasks.traces.vocabulary import ContractName

Language = Literal["python", "shell"]
_WORDS = ("instance_id", "model_name", "declared_contract", "runtime_contract", "finish_reason", "error_message")
_NUMBERS = ("score", "prompt_tokens", "completion_tokens")
_OF_TRACE = {"trace_id": str, **dict.fromkeys(_WORDS, str | None), **dict.fromkeys(_NUMBERS, float | int | None)}
_OF_REPLY = {"text": str, "observation": str, "error": str | None, "prompt_tokens": int, "completion_tokens": int}
_OF_BLOCK = {"code": str, **dict.fromkeys(("output", "error", "result", "caught"), str | None)}
_STATELESS_WORDS = (ContractName.STATELESS, "reset", "ephemeral")


class Block(NamedTuple):
    """A block that ran, and what came back."""

    code: str
    output: str | None = None
    """What came back as text; null where the source records nothing."""
    error: str | None = None
    """Text of the error that ended the block."""
    result: str | None = None
    """Value of the last expression, where the source tells it apart from the output."""
    language: Language = "python"
    call_id: str = ""
    """Identifier of the tool call that ran it."""
    caught: str | None = None
    """Error that its own code caught and printed."""


class Reply(NamedTuple):
    """A message of the agent with the blocks that it ran."""

    text: str
    blocks: tuple[Block, ...] = ()
    observation: str = ""
    """Messages to the agent after it."""
    unread: tuple[str, ...] = ()
    """Why code of it was not read, one entry per block or call."""
    other_calls: tuple[str, ...] = ()
    """Names of called tools that run no code."""
    not_run_count: int = 0
    """Blocks of its text that the agent's framework does not run."""
    error: str | None = None
    """Error of a reply that ran no block."""
    is_model_error: bool = False
    """Whether the model call failed."""
    prompt_tokens: int = 0
    completion_tokens: int = 0


class InstanceDescription(NamedTuple):
    """An instance as a result describes it.

    A task id alone is ambiguous.
    """

    task_id: str
    capacity: int
    optimal_value: int


class OpeningMessage(NamedTuple):
    """A message before the first reply."""

    role: Literal["system", "user"]
    content: str


@dataclass(frozen=True, kw_only=True)
class Trace:
    """One episode of any agent."""

    trace_id: str
    replies: tuple[Reply, ...]
    layout: str = ""
    """What its reader calls the layout."""
    place: str = ""
    """Where it was read."""
    opening: tuple[OpeningMessage, ...] = ()
    declared_contract: str | None = None
    """Contract that the prompt stated."""
    runtime_contract: str | None = None
    """Contract in force, where the source declares one."""
    train_contract: str | None = None
    has_fresh_processes: bool = False
    """Whether the source's framework runs each block in a process of its own."""
    instance_id: str | None = None
    """Name of the task that was solved."""
    described: InstanceDescription | None = None
    """The instance as its result describes it."""
    model_name: str | None = None
    score: float | None = None
    finish_reason: str | None = None
    """Why the episode ended, in the words of the source."""
    error_message: str | None = None
    started_at: datetime = datetime(1970, 1, 1, tzinfo=UTC)
    """Start; 1970 where the source names none."""
    wall_seconds: float = 0.0
    prompt_tokens: int | None = None
    """Tokens of the episode; null for the sum over replies."""
    completion_tokens: int | None = None
    columns: Mapping[str, Any] = field(default_factory=dict)
    """Further columns of `EpisodeRow` that the source declares."""

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Blocks of all replies, oldest first."""
        return tuple(chain.from_iterable(reply.blocks for reply in self.replies))


def check_types(trace: Trace) -> None:
    """Raise `TypeError` where a recording held something else than text or numbers."""
    _check("the trace", trace, _OF_TRACE)
    for message in trace.opening:
        _check("a message", message, {"content": str})
    for reply in trace.replies:
        _check("a reply", reply, _OF_REPLY)
        for block in reply.blocks:
            _check("a block", block, _OF_BLOCK)


def _check(whose: str, held: Any, types: Mapping[str, Any]) -> None:
    for name, expected in types.items():
        value = getattr(held, name)
        if not isinstance(value, expected):
            raise TypeError(f"{name} of {whose} is {type(value).__name__}")


def known_contract(declared: Any) -> str | None:
    """Return our name of a declared contract, or null."""
    name = None
    if isinstance(declared, str):
        name = contract_name(declared)
    if name in set(ContractName):
        return name
    return None


def contract_name(declared: str | None) -> str | None:
    """Return our name of a contract: `stateless` for `reset`."""
    if declared is None:
        return None
    word = declared.strip().lower()
    if word in _STATELESS_WORDS:
        return ContractName.STATELESS
    return word
