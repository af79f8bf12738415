"""A worker's kernels, and the episodes that run in them."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

from carryover.tasks.runtime.interpreter import Identity, Interpreter
from carryover.tasks.runtime.jupyter.engine import JupyterEngine
from carryover.tasks.runtime.jupyter.kernel import Kernel
from carryover.tasks.runtime.jupyter.pool import KernelPool
from carryover.tasks.runtime.lifetime import lifetime_of
from carryover.tasks.runtime.protocol import Contract, SandboxLevel
from carryover.tasks.runtime.sandbox.level import reach_level
from carryover.tasks.runtime.spec import RuntimeSpec
from carryover.tasks.runtime.tools import ToolTable


class JupyterRuntime:
    """A `Runtime` whose interpreters are kernels, some of them started ahead."""

    backend: Literal["fork_tree", "jupyter"] = "jupyter"

    def __init__(self, spec: RuntimeSpec) -> None:
        self.spec = spec
        reached = reach_level(spec.sandbox, required=spec.require_sandbox)
        self.sandbox_level: SandboxLevel = reached.level
        self.sandbox_advice = reached.advice
        self._pool = KernelPool(lambda: Kernel(spec, reached.level), spec.warm_kernel_count)

    def open_interpreter(
        self,
        contract: Contract,
        tools: Mapping[str, Callable[..., Any]],
        *,
        instance_id: str,
        salt: str = "",
        tool_call_cap: int | None = 25,
    ) -> Interpreter:
        """Take a warm kernel for an episode."""
        table = ToolTable(tools, tool_call_cap)
        engine = JupyterEngine(lifetime_of(contract), self.spec, self._pool, table.documentation())
        return Interpreter(contract, table, engine, identity=Identity(instance_id, salt), spec=self.spec)

    def close(self) -> None:
        """End the kernels that wait."""
        self._pool.close()
