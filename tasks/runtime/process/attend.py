"""Watching over a running block: tool calls, time, memory, end."""

import contextlib
import logging
import time
from collections.abc import Callable, Iterator
from typing import Any

from carryover.tasks.runtime.engine import BlockKilledError, CallInterruptedError, Dispatch, Report, parse_report
from carryover.tasks.runtime.inside.framing import ANSWER_LIMIT_BYTES
from carryover.tasks.runtime.inside.values.tree import LIBRARIES
from carryover.tasks.runtime.notices import INTERRUPTED, UNFIT
from carryover.tasks.runtime.objects import NO_MEMORY, SharedMemory
from carryover.tasks.runtime.process.node import Node, NodeGoneError
from carryover.tasks.runtime.process.strays import end_strays, put_strays_last
from carryover.tasks.runtime.process.watcher import WATCHER
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.runtime.transfer import Fetched
from carryover.tasks.services.background import AWAITED_SECONDS

logger = logging.getLogger(__name__)

_BLOCK_LIMIT_BYTES = 4 << 20
"""Of what a running block's process sends: four times a tool call, and more than the longest report."""
_BY_HAND = "the block was stopped by hand"
_TRACEBACK_LIMIT = 2000
"""Characters of a traceback that the log gets; a block may have written it."""


def attend(node: Node, root: Node, step: int, answer: Dispatch, spec: RuntimeSpec) -> Report:
    """Answer a block's calls until it reports, interrupting late ones.

    So does Ctrl-C in the thread that it reaches: once interrupts the block, twice kills it. What an interrupted block
    forked ends with it: a fork bomb would leave the episode no room for another process.

    Raises:
        BlockKilledError: It did not heed the interrupt, or its episode held too much memory.
        NodeGoneError: Its process ended, it sent an invalid message, or its own code failed, which is logged.
    """
    WATCHER.leave(root)
    node.channel.limit_bytes = _BLOCK_LIMIT_BYTES
    clock = _Clock(node, root, spec)
    offers = _Offers(clock, answer, spec.object_limit_bytes)
    report = None
    try:
        while report is None:
            try:
                report = _answer_next(node, root, step, offers, clock)
            except KeyboardInterrupt:
                clock.interrupt(_BY_HAND)
    finally:
        node.channel.limit_bytes = ANSWER_LIMIT_BYTES
    WATCHER.watch(root, spec.episode_memory_limit_bytes)
    return report


def _answer_next(node: Node, root: Node, step: int, offers: "_Offers", clock: "_Clock") -> Report | None:
    match node.receive():
        case ["done", int(done), report] if done == step:
            return _read_report(report, root, clock)
        case ["unfit", int(done), str(problem)] if done == step and problem in UNFIT:
            raise BlockKilledError("StateNotKept", f"the interpreter cannot go on after this block: {UNFIT[problem]}")
        case ["call", int(ticket), str(tool), list(arguments), dict(keywords)]:
            offers.answer_call(ticket, lambda: offers.answer(tool, arguments, keywords))
        case ["offer", int(ticket), str(tool), int(size), list(libraries)] if size > 0:
            offers.make_room(ticket, tool, size, libraries)
        case ["filled", int(ticket)]:
            offers.answer_filled(ticket)
        case ["failed", str(traceback)]:
            logger.warning("an interpreter's own code failed: %s", ascii(traceback[-_TRACEBACK_LIMIT:]))
            raise NodeGoneError("the interpreter's own code failed")
        case None:
            clock.check()
            node.resume()
            put_strays_last(root)
        case message:
            raise NodeGoneError(f"not a message of a running block: {repr(message)[:200]}")
    return None


def _read_report(report: Any, root: Node, clock: "_Clock") -> Report:
    parsed = parse_report(report)
    clock.look_at_memory()
    if parsed.error_type == "StepTimeout" or clock.reason is not None:
        end_strays(root)
    return _explain_interrupt(parsed, clock.reason)


class _Offers:
    """A block's calls, with data beyond JSON in host memory."""

    def __init__(self, clock: "_Clock", answer: Dispatch, limit_bytes: int) -> None:
        self._clock = clock
        self.answer = answer
        self._limit_bytes = limit_bytes
        self._open: tuple[int, str, Fetched] | None = None
        """The call whose arguments are being written."""

    def make_room(self, ticket: int, tool: str, size: int, libraries: list[Any]) -> None:
        """Send memory for a call's arguments, or a refusal."""
        refusal = self._refusal(size, libraries)
        if refusal is not None:
            self._clock.send((ticket, ("refused", refusal)))
            return
        try:
            memory = SharedMemory(size)
        except OSError as error:
            reason = NO_MEMORY.format(size=size, reason=error.strerror)
            self._clock.send((ticket, ("refused", reason)))
            return
        self._open = ticket, tool, Fetched(memory, tuple(libraries))
        self._clock.send((ticket, ("fill",)), (memory.descriptor,))

    def answer_filled(self, ticket: int) -> None:
        """Answer the call whose arguments have been written."""
        if self._open is None or self._open[0] != ticket:
            raise NodeGoneError("arguments of a call that was not offered")
        _, tool, offered = self._open
        self._open = None
        # Sealed before it is read: a block that could still write would change arguments that were checked already.
        try:
            offered.memory.seal()
        except OSError as error:
            raise NodeGoneError("arguments that a process keeps mapped for writing") from error
        self.answer_call(ticket, lambda: self.answer(tool, [], {}, offered))

    def answer_call(self, ticket: int, call: Callable[[], tuple[Any, ...]]) -> None:
        """Send a call's reply, or raise `NodeGoneError`.

        No JSON parser survives some messages.
        """
        try:
            with self._clock.stopped():
                reply = call()
            self._clock.check()
            self._send(ticket, reply)
        except CallInterruptedError as stopped:
            self._clock.interrupt(_BY_HAND)  # before the reply: it then ends the call
            self._send(ticket, stopped.frame)
        except RecursionError as error:
            raise NodeGoneError("a call whose arguments are nested too deep") from error

    def _send(self, ticket: int, reply: tuple[Any, ...]) -> None:
        match reply:
            case ("object", Fetched() as packed):
                self._clock.send((ticket, ("object", packed.memory.size)), (packed.memory.descriptor,))
            case _:
                self._clock.send((ticket, reply))

    def _refusal(self, size: int, libraries: list[Any]) -> str | None:
        if size > self._limit_bytes:
            return f"arguments of {size} bytes exceed the limit of {self._limit_bytes}; raise object_limit_bytes"
        if not all(library in LIBRARIES for library in libraries):
            return "malformed arguments"
        return None


class _Clock:
    """A block's time: an interrupt, then the end; memory in turn."""

    def __init__(self, node: Node, root: Node, spec: RuntimeSpec) -> None:
        self._node = node
        self._root = root
        self._spec = spec
        self.reason: str | None = None
        """Why it was interrupted, if it was."""
        self._set(spec.block_timeout_seconds)

    def check(self) -> None:
        """Interrupt a late block, or raise `BlockKilledError`.

        It is raised if the interrupt fails or memory is exceeded.
        """
        self.look_at_memory()
        if time.monotonic() >= self._deadline:
            self.interrupt(self._late())

    def interrupt(self, reason: str) -> None:
        """Interrupt the block; raise `BlockKilledError` if it has been interrupted before."""
        if self.reason is not None:
            raise BlockKilledError("StepTimeout", f"{self.reason} and was killed")
        self.reason = reason
        self._set(self._spec.interrupt_grace_seconds)
        self._node.interrupt()

    @contextlib.contextmanager
    def stopped(self) -> Iterator[None]:
        """Leave out of the block's time what asynchronous tools take."""
        before = AWAITED_SECONDS.get()
        try:
            yield
        finally:
            self._deadline += AWAITED_SECONDS.get() - before
            self._node.channel.deadline = self._deadline

    def send(self, reply: tuple[Any, ...], descriptors: tuple[int, ...] = ()) -> None:
        """Send a reply in time, or raise `BlockKilledError`."""
        try:
            self._node.channel.send(reply, descriptors)
        except BlockingIOError as error:
            reason = self.reason or self._late()
            raise BlockKilledError("StepTimeout", f"{reason} and was killed") from error
        except OSError as error:
            raise NodeGoneError(str(error)) from error

    def look_at_memory(self) -> None:
        """Check the episode's memory when due, or raise `BlockKilledError`."""
        holdings = self._root.holdings
        limit = self._spec.episode_memory_limit_bytes
        if time.monotonic() < holdings.due:
            return
        if used := holdings.excess_bytes(self._root.process_id(), limit):
            reason = f"the episode holds {used >> 20} MiB, {limit >> 20} are allowed; the block was killed"
            raise BlockKilledError("MemoryLimitExceeded", reason)

    def _late(self) -> str:
        return f"the block ran longer than {self._spec.block_timeout_seconds:g} s"

    def _set(self, seconds: float) -> None:
        self._deadline = self._node.channel.deadline = time.monotonic() + seconds


def _explain_interrupt(report: Report, reason: str | None) -> Report:
    """Say why a block was interrupted, even if it ignored that."""
    if reason is None:
        return report
    if report.error_type != "StepTimeout":
        return report._replace(notices=(*report.notices, INTERRUPTED.format(reason=reason)))
    traceback, _, _ = report.error_text.rpartition("StepTimeout")
    return report._replace(error_text=f"{traceback}StepTimeout: {reason} and was interrupted")
