"""Limits of a question's sub-questions: depth, number, time and tokens."""

import asyncio
from collections.abc import Coroutine
from contextvars import ContextVar
from typing import Any

from carryover.tasks.agent.runtime_stream import RuntimeStream
from carryover.tasks.runtime.inside.tools import ToolInvocationException, ToolRuntimeException

_DEPTH_LIMIT = 4
"""Questions that may be under way within each other."""
_CALL_LIMIT = 200
"""Questions that the blocks of one question may ask."""


class Allowance:
    """Rest of a question's budget, for questions of its blocks."""

    def __init__(self, runtime: RuntimeStream, seconds: float, tokens: int | None) -> None:
        """Open a question's allowance, within that of the asking question."""
        outer = ALLOWANCE.get()
        self.depth = 0 if outer is None else outer.depth + 1
        self.deadline = asyncio.get_running_loop().time() + seconds
        if outer is not None:
            self.deadline = min(self.deadline, outer.deadline)
        self.prompt_tokens = 0
        self.completion_tokens = 0
        self._busy = frozenset((id(runtime),)) if outer is None else outer._busy | {id(runtime)}
        self._token_limit = tokens
        self._call_count = 0
        self._running: set[asyncio.Task[Any]] = set()

    def is_busy(self, runtime: RuntimeStream) -> bool:
        """Tell whether a block on this interpreter waits for the answer."""
        return id(runtime) in self._busy

    def take_tokens(self) -> tuple[int, int]:
        """Return prompt and completion tokens spent since the last call."""
        spent = self.prompt_tokens, self.completion_tokens
        self.prompt_tokens = 0
        self.completion_tokens = 0
        return spent

    def cancel(self) -> None:
        """Cancel what is being asked: its question is over."""
        for task in self._running:
            task.cancel()

    async def ask(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Return a sub-question's outcome, in the time left.

        Raises:
            ToolRuntimeException: The question's time, tokens or number of calls are spent.
        """
        task = asyncio.ensure_future(work)
        self._running.add(task)
        try:
            self._require()
            async with asyncio.timeout_at(self.deadline):
                return await task
        except TimeoutError as error:
            raise ToolRuntimeException("the question's time is spent") from error
        finally:
            task.cancel()
            self._running.discard(task)

    def _require(self) -> None:
        self._call_count += 1
        if self._call_count > _CALL_LIMIT:
            raise ToolRuntimeException(f"{_CALL_LIMIT} questions may be asked within a question")
        spent = self.prompt_tokens + self.completion_tokens
        if self._token_limit is not None and spent >= self._token_limit:
            raise ToolRuntimeException(f"the {self._token_limit} tokens of the question are spent")
        if self.depth >= _DEPTH_LIMIT:
            raise ToolRuntimeException(f"questions may lie {_DEPTH_LIMIT} deep within each other")


ALLOWANCE: ContextVar[Allowance | None] = ContextVar("allowance", default=None)
"""Of the question whose block runs."""


def present_allowance() -> Allowance:
    """Return the running block's allowance, or raise `ToolInvocationException`."""
    allowance = ALLOWANCE.get()
    if allowance is None:
        raise ToolInvocationException("only a running block can ask")
    return allowance
