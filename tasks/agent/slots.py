"""Places for episodes that go on at the same time, shared by the event loops of a process."""

import asyncio
import threading
from collections import deque


class Places:
    """A semaphore for tasks of several event loops, each in a thread of its own: first come, first served.

    `asyncio.Semaphore` belongs to one loop, and `threading.Semaphore` would stop the loop that waits.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        """How many there are, free or not."""
        self._free = count
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._lock = threading.Lock()

    async def __aenter__(self) -> None:
        with self._lock:
            if self._free > 0:
                self._free -= 1
                return
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not self._leave(turn):  # the place has been handed over meanwhile
                self._hand_over()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._hand_over()

    def _leave(self, turn: asyncio.Future[None]) -> bool:
        with self._lock:
            is_waiting = turn in self._waiting
            if is_waiting:
                self._waiting.remove(turn)
        return is_waiting

    def _hand_over(self) -> None:
        with self._lock:
            if not self._waiting:
                self._free += 1
                return
            turn = self._waiting.popleft()
        turn.get_loop().call_soon_threadsafe(_begin, turn)


def places_of(base_url: str, count: int) -> Places:
    """Return the places before an endpoint: the same for whoever in this process asks with the same limit."""
    with _ASKING:
        return _PLACES.setdefault((base_url, count), Places(count))


_PLACES: dict[tuple[str, int], Places] = {}
_ASKING = threading.Lock()


def _begin(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)
