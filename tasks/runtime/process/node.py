"""The host's handle on an untrusted process of the tree."""

import _socket  # `socket` wraps a connection in a class that costs as much as the rest of a fork's request
import os
import select
import signal
import struct
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from carryover.tasks.runtime.inside.framing import ANSWER_LIMIT_BYTES, Channel, FrameError
from carryover.tasks.runtime.process.memory import Holdings

_TICK = struct.pack("ll", 0, 100_000)
"""Seconds and microseconds after which a wait for the sandbox looks around: deadline, life, memory."""
_SEND_SECONDS = 10.0
"""A process that has not read its messages for this long counts as gone."""
_REPLY_SECONDS = 30.0
"""Time for an answer that runs no code of the agent's, on a machine that may be busy."""

_ENDED = "the interpreter's process has ended"
_SILENT = f"the interpreter does not answer within {_REPLY_SECONDS:g} s"
_MEDDLED = "the interpreter's connection was written to by a block"


class StateLostError(Exception):
    """The process that held the state has ended."""


class NodeGoneError(StateLostError):
    """The process has ended or violates the protocol."""


class Canaries(NamedTuple):
    """The words by which the last block is remembered, or None."""

    names: str | None = None
    """By the namespace."""
    files: str | None = None
    """By the scratch folder."""


class ForkState(NamedTuple):
    """Report of a process that has forked."""

    canaries: Canaries
    has_strays: bool
    thread_count: int
    """Threads that Python knows of; libraries may have more."""
    has_output: bool
    """Whether what it prints still reaches the host."""


class Node:
    """A process of the sandbox, by channel and signal handle.

    All processes of an episode that the host knows of form its family: whatever else descends from the root is stray.
    """

    __slots__ = ("_process_id", "channel", "family", "handle", "holdings")

    def __init__(self, channel: Channel, handle: int, family: "set[Node] | None" = None) -> None:
        self.channel = channel
        self.channel.limit_bytes = ANSWER_LIMIT_BYTES
        self.handle = handle
        self.family: set[Node] = set() if family is None else family
        self.family.add(self)
        self._process_id: int | None = None
        self.holdings = Holdings()
        """Memory of what descends from it."""

    def send(self, message: Any, descriptors: tuple[int, ...] = ()) -> None:
        """Send a message; raise `NodeGoneError` when the process does not take it."""
        self.channel.deadline = time.monotonic() + _SEND_SECONDS
        try:
            self.channel.send(message, descriptors)
        except BlockingIOError as error:
            self.end()  # a part of the message may have gone out
            raise NodeGoneError(_SILENT) from error
        except OSError as error:
            raise NodeGoneError(_ENDED) from error

    def receive(self) -> Any:
        """Return the next message, or none after a tick.

        Raise `NodeGoneError` when there will be none.
        """
        try:
            return self.channel.receive()
        except BlockingIOError:
            if self.is_alive():
                return None
            raise NodeGoneError(_ENDED) from None
        except (EOFError, FrameError, OSError) as error:
            raise NodeGoneError(_MEDDLED if isinstance(error, FrameError) else _ENDED) from error

    def ask(self, message: Any, descriptors: tuple[int, ...] = (), answer_limit_bytes: int = ANSWER_LIMIT_BYTES) -> Any:
        """Send a message and return its answer; end the silent.

        The message runs no block.
        """
        self.send(message, descriptors)
        self.channel.limit_bytes = answer_limit_bytes
        deadline = self.channel.deadline = time.monotonic() + _REPLY_SECONDS
        try:
            while (reply := self.receive()) is None:
                self.resume()
                if time.monotonic() > deadline:
                    raise NodeGoneError(_SILENT)
        except BaseException:
            self.end()  # a late answer would be read as that of the next question
            raise
        finally:
            self.channel.limit_bytes = ANSWER_LIMIT_BYTES
        match reply:
            case ["answer", content]:
                return content
        raise NodeGoneError(_MEDDLED)

    def interrupt(self) -> None:
        """Raise `StepTimeout` in the running block."""
        self._signal(signal.SIGINT)

    def resume(self) -> None:
        """Resume the process if something has stopped it."""
        self._signal(signal.SIGCONT)

    def end(self) -> None:
        """Kill the process."""
        self._signal(signal.SIGKILL)

    def is_alive(self) -> bool:
        """Tell whether the process runs."""
        poll = select.poll()
        poll.register(self.handle, select.POLLIN)
        return not poll.poll(0)

    def process_id(self) -> int:
        """Return the process's number on the host; -1 when ended."""
        if self._process_id is None:
            with open(f"/proc/self/fdinfo/{self.handle}", encoding="ascii") as lines:  # noqa: PTH123 - hot path
                self._process_id = next((int(line.split()[1]) for line in lines if line.startswith("Pid:")), -1)
        return self._process_id

    def thread_count(self) -> int:
        """Return how many threads the process has; 0 when ended."""
        try:
            return os.stat(f"/proc/{self.process_id()}/task").st_nlink - 2  # noqa: PTH116 - hot path
        except OSError:
            return 0

    def close(self) -> None:
        """Kill the process and forget it."""
        self.end()
        self.channel.close()
        os.close(self.handle)
        self.family.discard(self)

    def _signal(self, number: signal.Signals) -> None:
        try:
            signal.pidfd_send_signal(self.handle, number)
        except OSError:  # it has ended, or the sandbox sent a descriptor that is no process
            return


def receive_handle(parent: Channel, resume: Callable[[], None] = lambda: None) -> tuple[int, ForkState]:
    """Wait for a forked process's handle, calling `resume`.

    Raise `NodeGoneError` if none comes.
    """
    deadline = parent.deadline = time.monotonic() + _REPLY_SECONDS
    while True:
        try:
            message, descriptors = parent.receive_with_descriptors()
            break
        except BlockingIOError:
            resume()
            if time.monotonic() > deadline:
                raise NodeGoneError(_SILENT) from None
        except (EOFError, FrameError, OSError) as error:
            raise NodeGoneError(_MEDDLED if isinstance(error, FrameError) else _ENDED) from error
    match message, descriptors:
        case ["forked", canaries, bool(strays), int(threads), bool(has_output)], (handle,):
            return handle, ForkState(parse_canaries(canaries), strays, threads, has_output)
    for descriptor in descriptors:
        os.close(descriptor)
    raise NodeGoneError(_MEDDLED)


def parse_canaries(answer: Any) -> Canaries:
    """Return the canaries in an answer, or raise `NodeGoneError`.

    The answer may hold anything.
    """
    match answer:
        case [str() | None as names, str() | None as files]:
            return Canaries(names, files)
    raise NodeGoneError(_MEDDLED)


def open_connection() -> tuple[Channel, Any]:
    """Return both ends of a new connection, the host's first.

    They have timeouts.
    """
    ours, theirs = _socket.socketpair()
    set_timeouts(ours)
    return Channel(ours), theirs


def set_timeouts(ours: Any) -> None:
    """Let no wait on a connection to the sandbox last for ever."""
    ours.setsockopt(_socket.SOL_SOCKET, _socket.SO_RCVTIMEO, _TICK)
    ours.setsockopt(_socket.SOL_SOCKET, _socket.SO_SNDTIMEO, _TICK)
