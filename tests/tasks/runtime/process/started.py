"""Processes for tests of what ends them: a node of each, and a handle of what it forked."""

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator

from carryover.tasks.runtime.inside.framing import Channel
from carryover.tasks.runtime.process.node import Node

SLEEPS = "import time; print(flush=True); time.sleep(600)"
FORKS = f"""
import subprocess, sys
print(subprocess.Popen([sys.executable, '-c', {SLEEPS!r}], stdout=subprocess.DEVNULL).pid, flush=True)
input()
"""


class Renumbered(Node):
    """Its number is another process' once `other` is set."""

    __slots__ = ("other",)
    other: Node

    def process_id(self) -> int:
        return self.other.process_id() if hasattr(self, "other") else super().process_id()


@contextlib.contextmanager
def started(code: str = SLEEPS, kind: type[Node] = Node) -> Iterator[tuple[Node, int]]:
    """Start a process; give a node of it, and a handle of the process that it forked, if it did."""
    ours, theirs = socket.socketpair()
    command = [sys.executable, "-c", code]
    with theirs, subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = process.stdout.readline().strip()
        node = kind(Channel(ours), os.pidfd_open(process.pid))
        child = os.pidfd_open(int(said) if said else process.pid)
        try:
            yield node, child
        finally:
            for handle in (child, node.handle):
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(handle, signal.SIGKILL)
            os.close(child)
            node.close()


def has_ended(handle: int, seconds: float = 60) -> bool:
    return bool(select.select([handle], [], [], seconds)[0])
