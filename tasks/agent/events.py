"""Events of an episode, for watchers and for the recorder."""

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from carryover.tasks.agent.protocol import Completion
from carryover.tasks.agent.reply import Reply
from carryover.tasks.runtime.results import BlockResult
from carryover.tasks.traces.vocabulary import ErrorKind, FinishReason


class Asked(NamedTuple):
    """The model is shown a question, and first a system message."""

    text: str


class Replied(NamedTuple):
    """A reply of the model; its block or calls run next."""

    reply: Reply
    completion: Completion
    seed: int


class Unanswered(NamedTuple):
    """The model gave no reply, and the episode ends."""

    error: Exception
    seconds: float
    """Time that was waited for it."""


class Acted(NamedTuple):
    """Outcome of a reply's block."""

    code: str
    """The block, or the calls as Python."""
    result: BlockResult
    is_verified: bool
    """Whether the canary agreed with the contract before the block ran."""
    injected_fault: str | None = None
    """Fault that the harness injected and the block met."""
    dropped_names: tuple[str, ...] = ()
    """Names that the harness removed before the block."""


class Refusal(NamedTuple):
    """Why nothing of a reply ran."""

    kind: ErrorKind
    error_type: str
    text: str
    """Text for the model."""


class Observed(NamedTuple):
    """A reply acted, or could not."""

    text: str | None
    """The user message that follows the reply; None where the episode is over."""
    acted: Acted | None = None
    refusal: Refusal | None = None
    has_note: bool = False
    """Whether the message tells of blocks that were dropped."""

    @property
    def result(self) -> BlockResult | None:
        """The block's result; None if the reply held no whole block."""
        if self.acted is None:
            return None
        return self.acted.result


class Compacted(NamedTuple):
    """The conversation was shortened; the runtime keeps everything."""

    tokens_before: int
    tokens_after: int
    removed_output_count: int
    is_summarized: bool
    prompt_tokens: int
    """Of the requests for summaries."""
    completion_tokens: int


@dataclass(frozen=True)
class Answer:
    """The end of a question or an episode; its text as `str`."""

    text: str
    """The model's final reply, or why there is none."""
    stop: FinishReason = field(kw_only=True)
    """`answer`, or the budget or error that ended it."""
    step_count: int = field(kw_only=True)
    """Model replies."""
    prompt_tokens: int = field(kw_only=True)
    completion_tokens: int = field(kw_only=True)
    value: Any = field(default=None, kw_only=True)
    """The validated result, where the question asked for one of a type."""

    def __str__(self) -> str:
        """Return the text."""
        return self.text


def retryable(answer: Answer) -> Answer:
    """Return an end by time limit as an error, to retry.

    Else the load of the machine would decide a result of a study.
    """
    if answer.stop is not FinishReason.TIMEOUT:
        return answer
    return replace(answer, stop=FinishReason.ERROR)


Event = Asked | Replied | Unanswered | Observed | Compacted | Answer
