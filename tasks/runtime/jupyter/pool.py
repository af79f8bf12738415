"""Kernels that are started before they are asked for."""

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from tasks.runtime.jupyter.kernel import Kernel
from tasks.runtime.process.node import NodeGoneError

_START_ATTEMPTS = 5


class KernelPool:
    """Hands out fresh kernels; each one handed out is replaced in the background."""

    def __init__(self, start: Callable[[], Kernel], size: int) -> None:
        self._start = start
        self._lock = threading.Lock()
        self._starters = ThreadPoolExecutor(max_workers=size, thread_name_prefix="kernel-pool")
        self._warm: deque[Future[Kernel]] = deque(self._starters.submit(self._start_one) for _ in range(size))

    def take(self) -> Kernel:
        """Return a kernel that no block has run in."""
        with self._lock:
            self._warm.append(self._starters.submit(self._start_one))
            started = self._warm.popleft()
        return started.result()

    def _start_one(self) -> Kernel:
        """Return a started kernel: one that ends while it starts has run no block, and another one takes its place."""
        for _ in range(_START_ATTEMPTS - 1):
            try:
                return self._start()
            except NodeGoneError:
                continue
        return self._start()

    def close(self) -> None:
        """End the kernels that nobody took."""
        with self._lock:
            warm, self._warm = self._warm, deque()
        for started in warm:
            if not started.cancel():
                started.result().close()
        self._starters.shutdown()
