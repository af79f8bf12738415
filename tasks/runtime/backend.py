"""The protocol of a backend: a worker's source of interpreters."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from carryover.tasks.runtime.contract import Contract
from carryover.tasks.runtime.engine import Engine
from carryover.tasks.runtime.gate import ObjectGate
from carryover.tasks.runtime.identity import Identity
from carryover.tasks.runtime.interpreter import Interpreter
from carryover.tasks.runtime.lifetime import Lifetime, lifetime_of
from carryover.tasks.runtime.runtime_spec import RuntimeSpec, SandboxLevel
from carryover.tasks.runtime.sandbox.level import reach_level
from carryover.tasks.runtime.tools import ToolTable


class Runtime(ABC):
    """A worker's source of interpreters, all synchronous.

    An asyncio caller puts `run_block` in a thread.
    """

    def __init__(self, spec: RuntimeSpec) -> None:
        self.spec = spec
        self.backend = spec.backend
        self.sandbox_level: SandboxLevel = reach_level(spec.sandbox, required=spec.require_sandbox)

    def open_interpreter(
        self,
        contract: Contract,
        tools: Mapping[str, Callable[..., Any]],
        *,
        instance_id: str,
        salt: str = "",
        tool_call_cap: int | None = 25,
        rules: RuntimeSpec | None = None,
    ) -> Interpreter:
        """Start an episode's interpreter with host-side tools by name.

        `instance_id` and `salt` seed `random` and NumPy before every block, equally under every contract. The static
        policy and the shaping of `rules` take the place of the worker's own.
        """
        spec = self.spec
        if rules is not None:
            spec = spec.model_copy(update={"policy": rules.policy, "shaping": rules.shaping})
        table = ToolTable(tools, tool_call_cap, ObjectGate(self.spec))
        documented = {name: tool.documentation for name, tool in table.tools.items()}
        engine = self.open_engine(lifetime_of(contract), documented)
        return Interpreter(
            contract,
            table,
            engine,
            identity=Identity(instance_id, salt),
            spec=spec,
            level=self.sandbox_level,
        )

    @abstractmethod
    def open_engine(self, lifetime: Lifetime, tools: dict[str, str]) -> Engine:
        """Start an episode's processes, with tools by name and their documentation."""

    @abstractmethod
    def close(self) -> None:
        """End the worker's processes."""
