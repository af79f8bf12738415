"""One process of the tree: one interpreter state that runs blocks, forks itself, and obeys its host."""

import os
import signal
from collections.abc import Callable
from typing import Any

import _socket

from .step import CANARY_NAME, StepRunner
from .wire import Channel


class Node:
    """The message loop of a process.

    The root of an episode never runs a block; it forks the processes that do, and sweeps away what they leave.
    """

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.runner = StepRunner()
        self._children: list[int] = []
        self._handlers: dict[str, Callable[..., None]] = {
            "run": self._run,
            "fork": self._fork,
            "drop": self._drop,
        }

    def serve(self) -> None:
        """Answer the host's messages until it closes the connection."""
        while True:
            try:
                message, descriptors = self.channel.receive_with_descriptors()
            except EOFError:
                os._exit(0)
            self._handlers[message[0]](*message[1:], *descriptors)

    def _run(self, step: int, seed: str, source: str) -> None:
        report = self.runner.run(self.channel, step, seed, source)
        self.channel.send(("done", step, report))

    def _fork(self, is_sweep: bool, dropped: list[str] | None, descriptor: int) -> None:
        """Fork a process that listens on `descriptor`; tell the host by which handle it can be signalled.

        First the names that do not live on are dropped (none: all of them). A sweep also ends every process that the
        episode has left, so that nothing survives into the next block.
        """
        self.runner.forget(dropped)
        has_strays = is_sweep and not self._sweep()
        self._reap()
        process = os.fork()
        if process == 0:
            self.channel.close()
            self.channel = Channel(_socket.socket(fileno=descriptor))
            self._children = []
            return
        self._children.append(process)
        handle = os.pidfd_open(process)
        state = {"canary": self.runner.namespace.get(CANARY_NAME), "has_strays": has_strays}
        self.channel.send(("forked", state), (handle,))
        os.close(handle)
        os.close(descriptor)

    def _sweep(self) -> bool:
        """End what is left of the last block; tell whether nothing remains."""
        for process in self._children:
            os.waitpid(process, 0)
        self._children = []
        while True:
            try:
                process, _ = os.waitpid(-1, os.WNOHANG)
                if process:
                    continue
                if os.getpid() != 1:
                    return False
                os.kill(-1, signal.SIGKILL)  # the first process of a namespace: all the others are this episode's
                os.waitpid(-1, 0)
            except ChildProcessError:
                return True

    def _reap(self) -> None:
        """Collect children that have ended: standbys of former steps."""
        remaining = []
        for process in self._children:
            try:
                ended, _ = os.waitpid(process, os.WNOHANG)
            except ChildProcessError:
                continue
            if not ended:
                remaining.append(process)
        self._children = remaining

    def _drop(self, names: list[str]) -> None:
        dropped = [name for name in names if self.runner.namespace.pop(name, self) is not self]
        self.channel.send(("answer", dropped))


def start(channel: Channel, setup: dict[str, Any]) -> None:
    """Set up an episode's root with its tools and serve; never returns."""
    node = Node(channel)
    node.runner.add_tools(setup["tools"])
    node.serve()
