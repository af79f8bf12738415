"""Events of an answering agent, one per step."""

from dataclasses import dataclass, field
from typing import NamedTuple

from carryover.tasks.agent.protocol import Completion
from carryover.tasks.agent.reply import Reply
from carryover.tasks.runtime.results import BlockResult
from carryover.tasks.traces.vocabulary import FinishReason


class Asked(NamedTuple):
    """The model is shown a question, with the system message if it is the first."""

    text: str


class Replied(NamedTuple):
    """The model replied; if the reply holds a block, the block runs next."""

    reply: Reply
    completion: Completion
    seed: int


class Observed(NamedTuple):
    """A block ran, or could not, and the model is told."""

    text: str
    """The user message that follows the reply."""
    result: BlockResult | None
    """None if the reply held no whole block."""
    is_verified: bool = False
    """Whether the canary agreed with the contract before the block ran."""


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
    """The end of a question; its text as `str`."""

    text: str
    """The model's final reply, or why there is none."""
    stop: FinishReason = field(kw_only=True)
    """`answer`, or the budget or error that ended it."""
    step_count: int = field(kw_only=True)
    """Model replies."""
    prompt_tokens: int = field(kw_only=True)
    completion_tokens: int = field(kw_only=True)

    def __str__(self) -> str:
        """Return the text."""
        return self.text


Event = Asked | Replied | Observed | Compacted | Answer
