"""Memory between steps: what a block left running may go on growing while the model thinks."""

import contextlib
import logging
import os
import signal
import threading
import time
from typing import NamedTuple

from tasks.runtime.process.descendants import descendants
from tasks.runtime.process.memory import excess_bytes
from tasks.runtime.process.node import Node

logger = logging.getLogger(__name__)

_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.25, 4.0
"""Between two looks at an episode; each pause of one doubles, as most blocks leave nothing that grows."""


class _Watched(NamedTuple):
    limit_bytes: int
    pause_seconds: float
    """Before the next look."""
    look_at: float


class Watcher:
    """Ends the processes of an episode that holds too much; one thread for all episodes of a worker."""

    def __init__(self) -> None:
        self._watched: dict[Node, _Watched] = {}
        self._thread = threading.Thread(target=self._look_for_ever, name="memory-watcher", daemon=True)
        self._lock = threading.Lock()

    def watch(self, root: Node, limit_bytes: int) -> None:
        """Look at an episode's memory from now on, until its next step begins or its root ends."""
        root.process_id()  # asked for while its handle is open for sure
        self._watched[root] = _Watched(limit_bytes, _PAUSE_SECONDS, time.monotonic() + _PAUSE_SECONDS)
        if self._thread.ident is None:
            with self._lock:
                if self._thread.ident is None:
                    self._thread.start()

    def leave(self, root: Node) -> None:
        """Look no longer: a running block is watched by whoever waits for it."""
        self._watched.pop(root, None)

    def _look_for_ever(self) -> None:
        while True:
            time.sleep(_PAUSE_SECONDS)
            for root, watched in tuple(self._watched.items()):
                if time.monotonic() > watched.look_at:
                    self._look(root, watched)

    def _look(self, root: Node, watched: _Watched) -> None:
        """Look at an episode, unless it was closed: its number may be another's by now."""
        used = excess_bytes(root.process_id(), watched.limit_bytes) if root in root.family else 0
        if self._watched.get(root) is not watched:  # a step has begun
            return
        if used or root not in root.family:
            self._watched.pop(root, None)
        else:
            pause = min(2 * watched.pause_seconds, _LONGEST_PAUSE_SECONDS)
            self._watched[root] = _Watched(watched.limit_bytes, pause, time.monotonic() + pause)
        if used:
            allowed = watched.limit_bytes >> 20
            logger.warning("an episode held %d MiB between two steps, %d are allowed", used >> 20, allowed)
            _end(root)


def _end(root: Node) -> None:
    for process in (*descendants(root.process_id()), root.process_id()):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


WATCHER = Watcher()
"""The worker's."""
