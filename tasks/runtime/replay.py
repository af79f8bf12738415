"""Recorded tool replies in place of the tools, while a block runs again."""

from typing import Any

from carryover.tasks.runtime.engine import CallInterruptedError
from carryover.tasks.runtime.journal import Reply, Request, request_text


class RecordedAnswers:
    """Replies in the recorded order, as long as the block asks what it asked."""

    def __init__(self, replies: tuple[Reply, ...]) -> None:
        self.asked: list[Request] = []
        """What the block asked for, up to one request more than was recorded."""
        self._replies = replies
        self._position = 0
        self._is_broken = False

    def __call__(self, tool: str, arguments: list[Any], keywords: dict[str, Any]) -> tuple[Any, ...]:
        """Return the recorded reply, or an error from the first request on that is another than the recorded one.

        Raises:
            CallInterruptedError: The tool was stopped by hand when it was recorded.
        """
        request = request_text(tool, arguments, keywords)
        if len(self.asked) <= len(self._replies):
            self.asked.append(request)
        if not self._is_broken and self._position < len(self._replies):
            expected = self._replies[self._position]
            self._position += 1
            if request == expected.request:
                if expected.is_interrupt():
                    raise CallInterruptedError(expected.frame())
                return expected.frame()
        self._is_broken = True
        return ("error", "ToolRuntimeException", f"{tool}: no such call was recorded here", 0)
