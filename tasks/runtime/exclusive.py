"""Exclusive use of an interpreter: one thing at a time."""

import contextlib
import threading
from collections.abc import Callable, Iterator

from carryover.tasks.runtime.engine import BusyError


class ExclusiveUse:
    """Present user of an interpreter, and whether it is closed."""

    def __init__(self, stop: Callable[[], None], end: Callable[[], None]) -> None:
        """Guard an interpreter: `stop` interrupts its block, `end` frees it once."""
        self._stop = stop
        self._end = end
        self._turn = threading.Lock()
        self._thread: int | None = None
        """The one that runs a block."""
        self.is_closed = False
        self._is_ended = False

    @contextlib.contextmanager
    def alone(self, *, runs_block: bool = False) -> Iterator[None]:
        """Use it alone, or raise `BusyError`.

        Raise `ValueError` once it is closed.
        """
        if not self._turn.acquire(blocking=False):
            raise BusyError("the interpreter is busy: a block runs, or another thread uses it; wait for the end")
        try:
            if self.is_closed:
                raise ValueError("the interpreter is closed; open another one")
            if runs_block:
                self._thread = threading.get_ident()
            yield
        finally:
            self._thread = None
            if self.is_closed:  # meanwhile
                self._end_once()
            self._turn.release()

    def close(self) -> None:
        """Stop and end it.

        In the thread that runs a block, a tool's, the end comes with the block's.
        """
        if self.is_closed:
            return
        self.is_closed = True
        if self._thread == threading.get_ident():
            return
        if not self._turn.acquire(blocking=False):
            self._stop()
            self._turn.acquire()
        try:
            self._end_once()
        finally:
            self._turn.release()

    def _end_once(self) -> None:
        if not self._is_ended:
            self._is_ended = True
            self._end()
