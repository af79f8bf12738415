"""Recorded tool replies in place of the tools, while a block runs again."""

import json
from typing import Any

from tasks.runtime.journal import Reply


class RecordedAnswers:
    """Replies in the recorded order, as long as the block asks what it asked."""

    def __init__(self, replies: tuple[Reply, ...]) -> None:
        self._remaining = list(replies)
        self._is_broken = False

    @property
    def is_faithful(self) -> bool:
        """Whether the block made exactly the recorded calls."""
        return not self._is_broken and not self._remaining

    def __call__(self, tool: str, arguments: list[Any], keywords: dict[str, Any]) -> tuple[Any, ...]:
        """Return the recorded reply, or an error when the block asks something else."""
        if self._remaining and not self._is_broken:
            expected = self._remaining.pop(0)
            if json.dumps([tool, arguments, keywords]) == json.dumps(expected.request):
                return expected.frame
        self._is_broken = True
        return ("error", "ToolRuntimeException", f"{tool}: no such call was recorded here", 0)
