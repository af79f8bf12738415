"""Memory between steps, which leftovers of blocks may grow."""

import logging
import threading
import time
from typing import NamedTuple

from carryover.tasks.runtime.process.node import Node
from carryover.tasks.runtime.process.strays import end_all

logger = logging.getLogger(__name__)

_PAUSE_SECONDS = 0.25
_LONGEST_PAUSE_SECONDS = 4.0
"""Between two looks at an episode; each pause of one doubles, as most blocks leave nothing that grows."""


class _Watched(NamedTuple):
    limit_bytes: int
    pause_seconds: float
    """Before the next look."""
    look_at: float


class Watcher:
    """Ends episodes that hold too much, in one thread."""

    def __init__(self) -> None:
        self._watched: dict[Node, _Watched] = {}
        self._thread = threading.Thread(target=self._look_for_ever, name="memory-watcher", daemon=True)
        self._lock = threading.Lock()
        """Held while an episode is ended: who has left is not, and its handle is open."""

    def watch(self, root: Node, limit_bytes: int) -> None:
        """Look at an episode's memory until its next step or end."""
        root.process_id()  # asked for while its handle is open for sure
        with self._lock:
            self._watched[root] = _Watched(limit_bytes, _PAUSE_SECONDS, time.monotonic() + _PAUSE_SECONDS)
            if self._thread.ident is None:
                self._thread.start()

    def leave(self, root: Node) -> None:
        """Stop watching an episode that runs a block or is closed.

        `attend` watches a running block.
        """
        with self._lock:
            self._watched.pop(root, None)

    def _look_for_ever(self) -> None:
        while True:
            time.sleep(_PAUSE_SECONDS)
            with self._lock:
                all_watched = tuple(self._watched.items())
            for root, watched in all_watched:
                if time.monotonic() > max(watched.look_at, root.holdings.due):
                    try:
                        self._look(root, watched)
                    except OSError as error:
                        logger.warning("an episode's memory could not be read: %s", error)

    def _look(self, root: Node, watched: _Watched) -> None:
        used = root.holdings.excess_bytes(root.process_id(), watched.limit_bytes)
        with self._lock:
            if self._watched.get(root) is not watched:  # a step has begun, or the episode was closed
                return
            if used or not root.is_alive():
                del self._watched[root]
            else:
                pause = min(2 * watched.pause_seconds, _LONGEST_PAUSE_SECONDS)
                self._watched[root] = _Watched(watched.limit_bytes, pause, time.monotonic() + pause)
            if used and root.is_alive():  # the number of one that ended may be another's by now, and so its memory
                allowed = watched.limit_bytes >> 20
                logger.warning("an episode held %d MiB between two steps, %d are allowed", used >> 20, allowed)
                end_all(root)


WATCHER = Watcher()
"""The worker's."""
