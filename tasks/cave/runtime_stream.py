"""The runtime stream: the interpreter that holds the objects, and in which order its users may touch it."""

import asyncio
from typing import NamedTuple

from carryover.tasks.runtime.engine import StateLostError
from carryover.tasks.runtime.interpreter import Interpreter
from carryover.tasks.runtime.results import BlockResult


class BusyError(RuntimeError):
    """A block is running, so nothing can be brought in or out."""


class BlockOutcome(NamedTuple):
    """Effects of a block."""

    result: BlockResult
    is_verified: bool
    """Whether the canary agreed with the contract before the block."""


class RuntimeStream:
    """An interpreter that one agent or several use, one block after the other (arXiv 2601.01569, section 3)."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        """For what the host knows by itself: what was injected, the journal."""
        self._order = asyncio.Lock()
        self._is_running = False

    @property
    def idle(self) -> Interpreter:
        """The interpreter between two blocks.

        Raises:
            BusyError: A block is running.
        """
        if self._is_running:
            raise BusyError("a block is running; inject and retrieve before the question or after the answer")
        return self.interpreter

    async def run(self, code: str) -> BlockOutcome:
        """Run a block, after those that were asked for before it.

        Who is cancelled meanwhile leaves a block that goes on: the interpreter is idle when that has ended.
        """
        await self._order.acquire()
        self._is_running = True
        running = asyncio.ensure_future(asyncio.to_thread(self._run, code))
        running.add_done_callback(self._end)
        return await asyncio.shield(running)

    def _end(self, running: "asyncio.Future[BlockOutcome]") -> None:
        self._is_running = False
        self._order.release()
        if not running.cancelled():
            running.exception()  # it is raised where somebody waits, and nobody may

    def _run(self, code: str) -> BlockOutcome:
        try:
            is_verified = self.interpreter.verify_contract()
        except StateLostError:  # the block's result says what became of the state
            is_verified = False
        return BlockOutcome(self.interpreter.run_block(code), is_verified)
