"""Head-tail-backfill truncation of a trace to a token budget (arXiv 2603.01209, appendix C.1.3)."""

from collections.abc import Sequence
from typing import NamedTuple

from carryover.tasks.datasets.conversations import TrainingMessage


class CostedMessage(NamedTuple):
    """A message with what it takes of both budgets."""

    message: TrainingMessage
    cost: int
    """Tokens of the content and the paper's overhead of a message."""
    length: int
    """Tokens that the training sees: content and chat template."""


class TokenBudget(NamedTuple):
    """Token budget of all messages: cost, as the paper counts, and length, as the training does."""

    cost: int
    length: int

    def holds(self, messages: Sequence[CostedMessage]) -> bool:
        """Tell whether the messages fit, by both measures."""
        left = self.less(messages)
        return left.cost >= 0 and left.length >= 0

    def less(self, messages: Sequence[CostedMessage]) -> "TokenBudget":
        """Return what the messages leave; negative where they do not fit."""
        cost, length = sum(message.cost for message in messages), sum(message.length for message in messages)
        return TokenBudget(self.cost - cost, self.length - length)


class Truncation(NamedTuple):
    """Remainder of a trace, or the reason why it is empty."""

    messages: tuple[CostedMessage, ...]
    is_truncated: bool
    reason: str | None

    @property
    def token_count(self) -> int:
        """Cost of the messages, in tokens."""
        return sum(message.cost for message in self.messages)

    @property
    def length(self) -> int:
        """Tokens that the training sees."""
        return sum(message.length for message in self.messages)


def truncate(messages: Sequence[CostedMessage], budget: TokenBudget, placeholder: CostedMessage) -> Truncation:
    """Fit a trace into a budget: keep its opening and its end, then fill with what came before the end.

    The opening is the system messages at the start (one in the paper's text) and the task. The end is the last reply
    with the message before it. What lies between is taken from newest to oldest; an observation that does not fit is
    replaced by the placeholder, a reply that does not fit ends the filling. An observation between the two whose reply
    was left out answers nothing, so it goes too.

    The budget is the paper's, and the longest sequence of the training. A trace of many short turns may keep the first
    and break the second: a chat template takes more per message than the paper counts.
    """
    if budget.holds(messages):
        roles = [message.message.role for message in messages]
        is_open = roles[-1:] != ["assistant"]
        if is_open and roles[-2:] != ["assistant", "user"]:
            return _rejected("fits_but_ends_with_user_unfixable")
        return Truncation(tuple(messages[:-1] if is_open else messages), is_truncated=is_open, reason=None)
    head_end = 1
    while head_end < len(messages) and messages[head_end].message.role == "system":
        head_end += 1
    head_end += head_end < len(messages) and messages[head_end].message.role == "user"
    # The end is two messages, or the reply before a trailing observation.
    last = len(messages) - 1
    if last >= head_end and messages[last].message.role == "assistant":
        start, stop = max(last - 1, head_end), last + 1
    elif last - 1 >= head_end and messages[last - 1].message.role == "assistant":
        start, stop = last - 1, last
    else:
        return _rejected("trace_ends_with_user_unfixable")
    head, end = messages[:head_end], messages[start:stop]
    if not budget.holds([*head, *end]):
        return _rejected("trunc_head_tail_exceeds_limit")
    middle = _backfill(messages[head_end:start], budget.less([*head, *end]), placeholder)
    kept = (*head, *middle, *end)
    if len(kept) < 2 or kept[-1].message.role != "assistant":
        return _rejected("trunc_too_short")
    return Truncation(kept, is_truncated=True, reason=None)


def _backfill(middle: Sequence[CostedMessage], budget: TokenBudget, placeholder: CostedMessage) -> list[CostedMessage]:
    filled: list[CostedMessage] = []
    for message in reversed(middle):
        kept = message
        if not budget.holds([kept]) and kept.message.role == "user":
            kept = placeholder
        if not budget.holds([kept]):
            break
        filled.append(kept)
        budget = budget.less([kept])
    while filled and filled[-1].message.role == "user":
        filled.pop()
    return filled[::-1]


def _rejected(reason: str) -> Truncation:
    return Truncation((), is_truncated=False, reason=reason)
