"""A worker's kernels, and the episodes that run in them."""

import threading
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor

from carryover.tasks.runtime.backend import Runtime
from carryover.tasks.runtime.jupyter.kernel import Kernel
from carryover.tasks.runtime.jupyter.kernel_engine import JupyterEngine
from carryover.tasks.runtime.lifetime import Lifetime
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.runtime.sandbox.folders import ScratchFolders


class JupyterRuntime(Runtime):
    """A `Runtime` of kernels that are started ahead."""

    def __init__(self, spec: RuntimeSpec) -> None:
        super().__init__(spec)
        self._lock = threading.Lock()
        self._folders = ScratchFolders(spec, self.sandbox_level)
        self._starters = ThreadPoolExecutor(spec.warm_kernel_count, thread_name_prefix="kernel-starter")
        self._warm = deque(self._start() for _ in range(spec.warm_kernel_count))

    def open_engine(self, lifetime: Lifetime, tools: dict[str, str]) -> JupyterEngine:
        """Take a warm kernel for an episode."""
        return JupyterEngine(lifetime, self.spec, self.take, tools)

    def take(self) -> Kernel:
        """Return a fresh kernel, and start another one in the background."""
        with self._lock:
            self._warm.append(self._start())
            started = self._warm.popleft()
        return started.result()

    def close(self) -> None:
        """End the kernels that were not taken."""
        with self._lock:
            warm = self._warm
            self._warm = deque[Future[Kernel]]()
        for started in warm:
            if not started.cancel():
                started.result().close()
        self._starters.shutdown()
        self._folders.close()

    def _start(self) -> Future[Kernel]:
        return self._starters.submit(Kernel, self.spec, self.sandbox_level, self._folders)
