"""A worker's kernels, and the episodes that run in them."""

from carryover.tasks.runtime.jupyter.engine import JupyterEngine
from carryover.tasks.runtime.jupyter.kernel import Kernel
from carryover.tasks.runtime.jupyter.pool import KernelPool
from carryover.tasks.runtime.lifetime import Lifetime
from carryover.tasks.runtime.open import Runtime
from carryover.tasks.runtime.spec import RuntimeSpec


class JupyterRuntime(Runtime):
    """A `Runtime` whose interpreters are kernels, some of them started ahead."""

    backend = "jupyter"

    def __init__(self, spec: RuntimeSpec) -> None:
        super().__init__(spec)
        self._pool = KernelPool(lambda: Kernel(spec, self.sandbox_level), spec.warm_kernel_count)

    def open_engine(self, lifetime: Lifetime, tools: dict[str, str]) -> JupyterEngine:
        """Take a warm kernel for an episode."""
        return JupyterEngine(lifetime, self.spec, self._pool, tools)

    def close(self) -> None:
        """End the kernels that wait."""
        self._pool.close()
