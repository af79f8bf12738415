"""Replies in the events of arXiv 2603.01209's repository."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from carryover.tasks.readers.trace import Block, Reply


def replies_of_events(events: Sequence[Mapping[str, Any]]) -> tuple[Reply, ...]:
    """Return the replies, each with the block that it led to.

    A reply whose block did not run has no block here, where the repository counts a step; a model call that failed is a
    reply without text.
    """
    reading = _Reading()
    replies: list[Reply] = []
    for event, following in zip(events, [*events[1:], None], strict=True):
        replies += reading.enter(event, following)
    return (*replies, *reading.rest())


class _Reading:
    """The reply whose step is still to come."""

    def __init__(self) -> None:
        self._pending: Reply | None = None
        self._prompt_tokens = 0

    def enter(self, event: Mapping[str, Any], following: Mapping[str, Any] | None) -> Iterator[Reply]:
        """Yield the replies that an event completes."""
        data = event["data"]
        match event["type"]:
            case "ModelCallEvent":
                self._prompt_tokens = data.get("prompt_tokens") or 0
            case "ModelResponseEvent":
                yield from self.rest()
                self._pending = self._answer(data)
            case "ErrorEvent" if self._pending is not None:
                self._pending = self._pending._replace(error=data["error"])
            case "ErrorEvent" if not _ends_the_episode(following):
                yield Reply("", error=data["error"], is_model_error=True)
            case "StepEvent":
                yield _with_block(self._pending or Reply(""), data)
                self._pending = None

    def rest(self) -> tuple[Reply, ...]:
        """Return the reply that no step followed, if any."""
        return () if self._pending is None else (self._pending,)

    def _answer(self, data: Mapping[str, Any]) -> Reply:
        completion = data.get("completion_tokens") or 0
        total = data.get("total_tokens") or self._prompt_tokens + completion
        self._prompt_tokens = total - completion
        return Reply("", prompt_tokens=self._prompt_tokens, completion_tokens=completion)


def _ends_the_episode(following: Mapping[str, Any] | None) -> bool:
    """Tell whether an error is the result's, by its finish event."""
    if following is None or following["type"] != "FinishEvent":
        return False
    return following["data"].get("reason") not in ("finish_tool", "max_turns")


def _with_block(reply: Reply, data: Mapping[str, Any]) -> Reply:
    outcome = data["interpreter_result"] or {}
    error = outcome.get("error") or None
    if data["code"] is None:
        return reply._replace(text=data["assistant_text"], error=error)
    result = outcome.get("result")
    text = result if result is None or isinstance(result, str) else json.dumps(result)
    block = Block(data["code"], output=outcome.get("output") or "", error=error, result=text)
    return reply._replace(text=data["assistant_text"], blocks=(block,), error=None)
