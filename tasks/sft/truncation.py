"""Head-tail-backfill truncation of a trace to a token budget (arXiv 2603.01209, appendix C.1.3)."""

from collections.abc import Sequence
from typing import NamedTuple

from tasks.sft.conversations import TrainingMessage


class CostedMessage(NamedTuple):
    """A message with its cost: tokens of the content and the overhead of a message."""

    message: TrainingMessage
    cost: int


class Truncation(NamedTuple):
    """What is left of a trace, or why nothing is."""

    messages: tuple[CostedMessage, ...]
    is_truncated: bool
    reason: str | None

    @property
    def token_count(self) -> int:
        """Cost of the messages, in tokens."""
        return sum(message.cost for message in self.messages)


def truncate(messages: Sequence[CostedMessage], budget: int, placeholder: CostedMessage) -> Truncation:
    """Fit a trace into a budget: keep its opening and its end, then fill with what came before the end.

    The opening is the system messages at the start (one in the paper's text) and the task. The end is the last reply
    with the message before it. What lies between is taken from newest to oldest; an observation that does not fit is
    replaced by the placeholder, a reply that does not fit ends the filling. An observation between the two whose reply
    was left out answers nothing, so it goes too.

    Args:
        messages: The trace, oldest first.
        budget: Largest total cost, in tokens.
        placeholder: Stands for an observation that was left out.
    """
    if sum(message.cost for message in messages) <= budget:
        return _close(messages)
    head_end = _head_end(messages)
    tail = _tail(messages, head_end)
    if not tail:
        return _rejected("trace_ends_with_user_unfixable")
    spent = sum(message.cost for message in (*messages[:head_end], *messages[tail.start : tail.stop]))
    if spent > budget:
        return _rejected("trunc_head_tail_exceeds_limit")
    middle = _backfill(messages[head_end : tail.start], budget - spent, placeholder)
    kept = (*messages[:head_end], *middle, *messages[tail.start : tail.stop])
    if len(kept) < 2 or kept[-1].message.role != "assistant":
        return _rejected("trunc_too_short")
    return Truncation(kept, is_truncated=True, reason=None)


def _close(messages: Sequence[CostedMessage]) -> Truncation:
    roles = [message.message.role for message in messages]
    if roles[-1:] == ["assistant"]:
        return Truncation(tuple(messages), is_truncated=False, reason=None)
    if roles[-2:] == ["assistant", "user"]:
        return Truncation(tuple(messages[:-1]), is_truncated=True, reason=None)
    return _rejected("fits_but_ends_with_user_unfixable")


def _head_end(messages: Sequence[CostedMessage]) -> int:
    end = 1
    while end < len(messages) and messages[end].message.role == "system":
        end += 1
    return end + (end < len(messages) and messages[end].message.role == "user")


def _tail(messages: Sequence[CostedMessage], head_end: int) -> range:
    """Return the indices of the end: two messages, or the reply before a trailing observation; empty for none."""
    last = len(messages) - 1
    if last >= head_end and messages[last].message.role == "assistant":
        return range(max(last - 1, head_end), last + 1)
    if last - 1 >= head_end and messages[last - 1].message.role == "assistant":
        return range(last - 1, last)
    return range(0)


def _backfill(middle: Sequence[CostedMessage], room: int, placeholder: CostedMessage) -> list[CostedMessage]:
    filled: list[CostedMessage] = []
    for message in reversed(middle):
        kept = message
        if kept.cost > room and kept.message.role == "user":
            kept = placeholder
        if kept.cost > room:
            break
        filled.append(kept)
        room -= kept.cost
    while filled and filled[-1].message.role == "user":
        filled.pop()
    return filled[::-1]


def _rejected(reason: str) -> Truncation:
    return Truncation((), is_truncated=False, reason=reason)
