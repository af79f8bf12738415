"""The runtime stream: an interpreter, and the order of its users."""

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import Executor
from typing import NamedTuple

from carryover.tasks.agent.events import Acted
from carryover.tasks.runtime.engine import BusyError, StateLostError
from carryover.tasks.runtime.interpreter import Interpreter

RunBlock = Callable[[Interpreter, str], Acted]
"""Runs a block in a thread, with what belongs around it."""


def run_verified(interpreter: Interpreter, code: str) -> Acted:
    """Ask the canary, and run a block whatever it says."""
    try:
        is_verified = interpreter.verify_contract()
    except StateLostError:  # the block's result says what became of the state
        is_verified = False
    return Acted(code, interpreter.run_block(code), is_verified)


class Posted(NamedTuple):
    """Names that a user's block bound, for the other users."""

    user: str
    names: tuple[str, ...]


class RuntimeStream:
    """An interpreter that agents use one block at a time."""

    def __init__(self, interpreter: Interpreter, threads: Executor | None = None) -> None:
        self.interpreter = interpreter
        """For what the host knows by itself: what was injected, the journal."""
        self.posted: list[Posted] = []
        """What each block bound, in order."""
        self._threads = threads
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

    async def run(self, code: str, run_block: RunBlock = run_verified) -> Acted:
        """Run a block, after those that were asked for before it.

        Who is cancelled meanwhile leaves a block that goes on: the interpreter is idle when that has ended.
        """
        return await asyncio.shield(await self.start(code, run_block))

    async def start(self, code: str, run_block: RunBlock = run_verified) -> "asyncio.Future[Acted]":
        """Start a block, after those that were asked for before."""
        await self._order.acquire()
        self._is_running = True
        context = contextvars.copy_context()  # host functions find what their agent has set

        def work() -> Acted:
            return context.run(run_block, self.interpreter, code)

        running = asyncio.get_running_loop().run_in_executor(self._threads, work)
        running.add_done_callback(self._end)
        return running

    async def settle(self) -> None:
        """Wait for the blocks that were asked for."""
        async with self._order:
            return

    def _end(self, running: "asyncio.Future[Acted]") -> None:
        self._is_running = False
        self._order.release()
        if not running.cancelled():
            running.exception()  # it is raised where somebody waits, and nobody may
