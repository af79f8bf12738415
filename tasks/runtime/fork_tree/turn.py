"""Turns in the scratch folder that an episode and branches share."""

import threading

from carryover.tasks.runtime.engine import BusyError


class FolderTurn:
    """The turn of one of those who share a folder."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: int | None = None
        self._last: object = None

    def take(self, user: object) -> bool:
        """Wait for the turn; return whether another has used the folder since.

        Raise `BusyError` in the thread that has the turn: it would wait for itself.
        """
        if self._thread == threading.get_ident():
            raise BusyError("a branch of this interpreter runs a block in this thread; wait for its end")
        self._lock.acquire()
        self._thread = threading.get_ident()
        is_anothers = self.is_anothers(user)
        self._last = user
        return is_anothers

    def is_anothers(self, user: object) -> bool:
        """Tell whether another one has used the folder last."""
        return self._last is not None and self._last is not user

    def give_back(self) -> None:
        """Let the next one in."""
        self._thread = None
        self._lock.release()
