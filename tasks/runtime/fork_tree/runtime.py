"""A worker's zygote, and the episodes that grow from it."""

import threading
from collections.abc import Callable, Mapping
from typing import Any, Literal

from carryover.tasks.runtime.fork_tree.engine import ForkTreeEngine
from carryover.tasks.runtime.interpreter import Identity, Interpreter
from carryover.tasks.runtime.lifetime import lifetime_of
from carryover.tasks.runtime.process.node import Node, open_connection, receive_handle
from carryover.tasks.runtime.protocol import Contract, SandboxLevel
from carryover.tasks.runtime.sandbox.launch import launch
from carryover.tasks.runtime.sandbox.level import reach_level
from carryover.tasks.runtime.spec import RuntimeSpec
from carryover.tasks.runtime.tools import ToolTable


class ForkTreeRuntime:
    """A `Runtime` whose interpreters are forks of one clean process."""

    backend: Literal["fork_tree", "jupyter"] = "fork_tree"

    def __init__(self, spec: RuntimeSpec) -> None:
        self.spec = spec
        reached = reach_level(spec.sandbox, required=spec.require_sandbox)
        self.sandbox_level: SandboxLevel = reached.level
        self.sandbox_advice = reached.advice
        self._zygote = launch("zygote", spec, reached.level)
        self._lock = threading.Lock()

    def open_interpreter(
        self,
        contract: Contract,
        tools: Mapping[str, Callable[..., Any]],
        *,
        instance_id: str,
        salt: str = "",
        tool_call_cap: int | None = 25,
    ) -> Interpreter:
        """Grow a root for an episode and start its first namespace."""
        table = ToolTable(tools, tool_call_cap)
        documentation = table.documentation()  # of these tools alone: what is injected later is bound in its turn

        def open_root(output: int) -> Node:
            return self._open_root(documentation, output)

        engine = ForkTreeEngine(lifetime_of(contract), self.spec, open_root)
        return Interpreter(contract, table, engine, identity=Identity(instance_id, salt), spec=self.spec)

    def close(self) -> None:
        """End the zygote, and with it every episode that is still open."""
        self._zygote.close()

    def _open_root(self, tools: dict[str, str], output: int) -> Node:
        channel, theirs = open_connection()
        with self._lock:
            self._zygote.channel.send({"tools": tools}, (theirs.fileno(), output))
        theirs.close()
        handle, _ = receive_handle(channel)
        return Node(channel, handle)
