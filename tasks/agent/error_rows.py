"""The errors of an episode as rows: what raised each, whether a block caught it, whether the harness injected it."""

import re

from carryover.tasks.knapsack.environment import UNAVAILABLE
from carryover.tasks.runtime.results import BlockError, ToolCall
from carryover.tasks.traces.rows import ErrorKind, ErrorRow, ToolCallRow

MISSING_NAME_TYPES = ("NameError", "UnboundLocalError")
"""With `is not defined` in the message, the signs of a missing name (arXiv 2603.01209, D.1)."""
_NAME_IN_MESSAGE = re.compile(r"name '(\w+)' is not defined")


class ErrorRows:
    """Collects the error rows of one episode, numbered within their turns."""

    def __init__(self, run_id: str, episode_id: str) -> None:
        self.rows: list[ErrorRow] = []
        self.dropped_names: set[str] = set()
        """User names that the harness removed and no block has bound again: that one is missing is injected."""
        self._ids = {"run_id": run_id, "episode_id": episode_id}
        self._counts: dict[int, int] = {}

    def add_of_call(self, turn: int, row: ToolCallRow) -> None:
        """Add the error of a tool call if a block caught it; one that it did not catch is the block's own."""
        if row.error_type is None or not row.is_caught:
            return
        kind = ErrorKind.CAP if row.error_type == "ToolCallLimitError" else ErrorKind.TOOL
        message = row.error_message or ""
        self.add(turn, row.step, kind, row.error_type, message, is_caught=True, is_injected=row.is_injected)

    def add_of_block(self, turn: int, step: int, error: BlockError, failing_tool: str | None) -> None:
        """Add the error that ended a block."""
        missing = _NAME_IN_MESSAGE.search(error.message)
        follows_drop = missing is not None and missing.group(1) in self.dropped_names
        follows_failure = failing_tool is not None and error.kind == "tool" and UNAVAILABLE in error.message
        is_injected = follows_drop or follows_failure
        self.add(turn, step, ErrorKind(error.kind), error.type, error.message, is_injected=is_injected)

    def add(
        self,
        turn: int,
        step: int | None,
        kind: ErrorKind,
        error_type: str,
        message: str,
        *,
        is_caught: bool = False,
        is_injected: bool = False,
    ) -> None:
        """Add an error; one without a step is why a turn ran no block."""
        index = self._counts.get(turn, 0)
        self._counts[turn] = index + 1
        is_missing_name = kind == ErrorKind.INTERPRETER and (
            error_type in MISSING_NAME_TYPES or "is not defined" in message.lower()
        )
        self.rows.append(
            ErrorRow(
                **self._ids,
                turn=turn,
                error_index=index,
                step=step,
                kind=kind,
                error_type=error_type,
                message=message,
                is_caught=is_caught,
                is_injected=is_injected,
                is_missing_name=is_missing_name and not is_injected,
                is_injected_missing_name=is_missing_name and is_injected,
            )
        )


def failing_tool(injected_fault: str | None) -> str | None:
    """Return the tool that a fault made fail, e.g. `inspect` for `fail:inspect`."""
    kind, _, target = (injected_fault or "").partition(":")
    return target if kind == "fail" else None


def is_injected(call: ToolCall, failing: str | None) -> bool:
    """Tell whether a call failed because the harness let that tool fail."""
    return call.tool == failing and (call.error_message or "").endswith(UNAVAILABLE)
