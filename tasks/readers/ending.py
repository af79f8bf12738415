"""How a foreign episode ended, under our names."""

from typing import NamedTuple

from carryover.tasks.readers.source_code import ends_episode
from carryover.tasks.readers.trace import Reply, Trace
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
    """Ending of an episode."""

    reason: FinishReason
    foreign_word: str | None = None
    """What the source calls it, where we have no name for it."""


def ending_of(trace: Trace) -> Ending:
    """Return an episode's ending by its source or last reply."""
    word = trace.finish_reason
    if word is not None and word.lower() not in _UNINFORMATIVE:
        return _told_ending(word)
    return Ending(_shown_ending(trace.replies[-1]) if trace.replies else FinishReason.OTHER)


def _told_ending(word: str) -> Ending:
    if word in list(FinishReason):
        return Ending(FinishReason(word))
    known = _WORDS.get(word.lower())
    if known:
        return Ending(known)
    return Ending(FinishReason.OTHER, f"finish reason {word!r}")


def _shown_ending(last: Reply) -> FinishReason:
    """Return an ending: an answer without a block, else unknown."""
    if last.is_model_error:
        return FinishReason.ERROR
    if any(block.language == "python" and calls_finish(block.code) for block in last.blocks):
        return FinishReason.FINISH_TOOL
    is_answer = not last.blocks or any(map(ends_episode, last.other_calls))
    if is_answer:
        return FinishReason.ANSWER
    return FinishReason.OTHER
