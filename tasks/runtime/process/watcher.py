"""Memory between steps: what a block left running may go on growing while the model thinks."""

import contextlib
import logging
import os
import signal
import threading

from tasks.runtime.process.descendants import child_count, descendants
from tasks.runtime.process.memory import excess_bytes
from tasks.runtime.process.node import Node

logger = logging.getLogger(__name__)

_PAUSE_SECONDS = 0.25


class Watcher:
    """Ends the processes of an episode that holds too much; one thread for all episodes of a worker."""

    def __init__(self) -> None:
        self._limits: dict[Node, int] = {}
        self._changed = threading.Condition()
        self._is_started = False

    def watch(self, root: Node, limit_bytes: int) -> None:
        """Look at an episode's memory from now on, until its next step begins or its root ends."""
        with self._changed:
            self._limits[root] = limit_bytes
            if not self._is_started:
                self._is_started = True
                threading.Thread(target=self._look_for_ever, name="memory-watcher", daemon=True).start()
            self._changed.notify()

    def leave(self, root: Node) -> None:
        """Look no longer: a running block is watched by whoever waits for it."""
        if self._limits:
            with self._changed:
                self._limits.pop(root, None)

    def _look_for_ever(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._limits)
                for root, limit_bytes in list(self._limits.items()):
                    self._look(root, limit_bytes)
            threading.Event().wait(_PAUSE_SECONDS)

    def _look(self, root: Node, limit_bytes: int) -> None:
        if root not in root.family:  # it was closed, and its number may be another's
            del self._limits[root]
            return
        used = excess_bytes(root.process_id(), limit_bytes)
        if used:
            logger.warning("an episode held %d MiB between two steps, %d are allowed", used >> 20, limit_bytes >> 20)
            del self._limits[root]
            for process in (*descendants(root.process_id()), root.process_id()):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)


WATCHER = Watcher()
"""The worker's."""


def leaves_anything(node: Node, root: Node) -> bool:
    """Tell whether a block that has ended left a thread, or a process that the host does not know."""
    if node.thread_count() > 1:
        return True
    return child_count(root.process_id()) + child_count(node.process_id()) > len(root.family) - 1
