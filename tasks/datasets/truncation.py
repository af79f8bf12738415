"""Head-tail-backfill truncation to a token budget (appendix C.1.3)."""

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
    """Budget of all messages, in the paper's tokens and the training's."""

    cost: int
    length: int

    def holds(self, messages: Sequence[CostedMessage]) -> bool:
        """Tell whether the messages fit, by both measures."""
        return min(self.less(messages)) >= 0

    def less(self, messages: Sequence[CostedMessage]) -> "TokenBudget":
        """Return what the messages leave; negative where they do not fit."""
        taken = Truncation(tuple(messages))
        return TokenBudget(self.cost - taken.token_count, self.length - taken.length)


class Truncation(NamedTuple):
    """Remainder of a trace, or the reason why it is empty."""

    messages: tuple[CostedMessage, ...]
    is_truncated: bool = False
    reason: str | None = None

    @property
    def token_count(self) -> int:
        """Cost of the messages, in tokens."""
        return sum(message.cost for message in self.messages)

    @property
    def length(self) -> int:
        """Tokens that the training sees."""
        return sum(message.length for message in self.messages)


def truncate(messages: Sequence[CostedMessage], budget: TokenBudget, placeholder: CostedMessage) -> Truncation:
    """Fit a trace into a budget: opening, end, then newest messages.

    The opening is the system messages at the start (one in the paper's text) and the task. The end is the last reply
    with the message before it. What lies between is taken from newest to oldest; an observation that does not fit is
    replaced by the placeholder, a reply that does not fit ends the filling.

    Ours, in place of appendix C.1.3: it keeps an observation whose reply was left out, so that a kept trace may have
    two user messages in a row, the task and that observation. Here that observation goes too: it answers nothing, and
    chat templates that demand alternating roles refuse such a trace. Traces that fit, as all of the paper's did, are
    the same under both rules.

    The budget is the paper's, and the longest sequence of the training. A trace of many short turns may keep the first
    and break the second: a chat template takes more per message than the paper counts.
    """
    roles = [message.message.role for message in messages]
    is_open = roles[-1:] != ["assistant"]
    if budget.holds(messages):
        if is_open:
            return _without_open_end(messages, roles)
        return Truncation(tuple(messages))
    head_end = _head_end(roles)
    # The end is two messages, or the reply before a trailing observation.
    stop = len(messages) - is_open
    start = stop - 1 if is_open else max(stop - 2, head_end)
    if stop <= head_end or roles[stop - 1] != "assistant":
        return Truncation((), reason="trace_ends_with_user_unfixable")
    head = messages[:head_end]
    end = messages[start:stop]
    left = budget.less([*head, *end])
    if min(left) < 0:
        return Truncation((), reason="trunc_head_tail_exceeds_limit")
    return Truncation((*head, *_backfill(messages[head_end:start], left, placeholder), *end), is_truncated=True)


def _without_open_end(messages: Sequence[CostedMessage], roles: Sequence[str]) -> Truncation:
    """Drop the observation that nothing answers, from a trace that fits."""
    if list(roles[-2:]) != ["assistant", "user"]:
        return Truncation((), reason="fits_but_ends_with_user_unfixable")
    return Truncation(tuple(messages[:-1]), is_truncated=True)


def _head_end(roles: Sequence[str]) -> int:
    """Return the number of messages in the opening."""
    end = 1
    while end < len(roles) and roles[end] == "system":
        end += 1
    if end < len(roles) and roles[end] == "user":
        end += 1
    return end


def _backfill(middle: Sequence[CostedMessage], budget: TokenBudget, placeholder: CostedMessage) -> list[CostedMessage]:
    filled: list[CostedMessage] = []
    for message in reversed(middle):
        kept = message
        if message.message.role == "user" and not budget.holds([message]):
            kept = placeholder
        if not budget.holds([kept]):
            break
        filled.append(kept)
        budget = budget.less([kept])
    # Backwards, so the last is the oldest: behind the task, an observation would be a second user message in a row.
    while filled and filled[-1].message.role == "user":
        filled.pop()
    return filled[::-1]
