"""How a foreign episode ended, under our names."""

from typing import NamedTuple

from carryover.tasks.readers.source_code import ends_episode
from carryover.tasks.readers.trace import Trace
from carryover.tasks.services.syntax import calls_finish
from carryover.tasks.traces.vocabulary import FinishReason

_UNINFORMATIVE = ("stop", "tool_calls", "tool_call", "end_turn", "tool_use")
"""Why a model's last reply ended, which is not why the episode did."""
_WORDS = {
    "submitted": FinishReason.ANSWER,
    "success": FinishReason.ANSWER,
    "completed": FinishReason.ANSWER,
    "max_steps_error": FinishReason.MAX_STEPS,
    "limitsexceeded": FinishReason.MAX_STEPS,
    "exit_cost": FinishReason.MAX_TOKENS,
    "exit_context": FinishReason.CONTEXT_LENGTH,
    "time": FinishReason.TIMEOUT,
    "exit_error": FinishReason.ERROR,
}


class Ending(NamedTuple):
    """How an episode ended."""

    reason: FinishReason
    foreign_word: str | None = None
    """What the source calls it, where we have no name for it."""


def ending_of(trace: Trace) -> Ending:
    """Return how an episode ended: as its source says, else as its last reply shows.

    A reply without a block is an answer; a block without a reply after it is taken for the last that was allowed.
    """
    word = trace.finish_reason
    if word is not None and word.lower() not in _UNINFORMATIVE:
        if word in list(FinishReason):
            return Ending(FinishReason(word))
        known = _WORDS.get(word.lower())
        return Ending(known) if known else Ending(FinishReason.OTHER, f"finish reason {word!r}")
    last = trace.replies[-1] if trace.replies else None
    if last is None:
        return Ending(FinishReason.OTHER)
    if any(block.language == "python" and calls_finish(block.code) for block in last.blocks):
        return Ending(FinishReason.FINISH_TOOL)
    if not last.blocks or any(map(ends_episode, last.other_calls)):
        return Ending(FinishReason.ERROR if last.is_model_error else FinishReason.ANSWER)
    return Ending(FinishReason.MAX_TURNS)
