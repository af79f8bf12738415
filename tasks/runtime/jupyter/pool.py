"""Kernels that are started before they are asked for."""

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from carryover.tasks.runtime.jupyter.kernel import Kernel


class KernelPool:
    """Hands out fresh kernels; each one handed out is replaced in the background."""

    def __init__(self, start: Callable[[], Kernel], size: int) -> None:
        self._start = start
        self._lock = threading.Lock()
        self._starters = ThreadPoolExecutor(max_workers=size, thread_name_prefix="kernel-pool")
        self._warm: deque[Future[Kernel]] = deque(self._starters.submit(start) for _ in range(size))

    def take(self) -> Kernel:
        """Return a kernel that no block has run in."""
        with self._lock:
            self._warm.append(self._starters.submit(self._start))
            started = self._warm.popleft()
        return started.result()

    def close(self) -> None:
        """End the kernels that were not handed out."""
        with self._lock:
            warm, self._warm = self._warm, deque()
        for started in warm:
            if not started.cancel():
                started.result().close()
        self._starters.shutdown()
