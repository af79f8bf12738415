"""A worker's zygote, and the episodes that grow from it."""

import threading

from carryover.tasks.runtime.fork_tree.engine import ForkTreeEngine
from carryover.tasks.runtime.lifetime import Lifetime
from carryover.tasks.runtime.open import Runtime
from carryover.tasks.runtime.process.node import Node, open_connection, receive_handle
from carryover.tasks.runtime.sandbox.launch import launch
from carryover.tasks.runtime.spec import RuntimeSpec


class ForkTreeRuntime(Runtime):
    """A `Runtime` whose interpreters are forks of one clean process."""

    backend = "fork_tree"

    def __init__(self, spec: RuntimeSpec) -> None:
        super().__init__(spec)
        self._zygote = launch("zygote", spec, self.sandbox_level)
        self._lock = threading.Lock()

    def open_engine(self, lifetime: Lifetime, tools: dict[str, str]) -> ForkTreeEngine:
        """Grow a root for an episode and start its first namespace."""
        return ForkTreeEngine(lifetime, self.spec, lambda output: self._open_root(tools, output))

    def _open_root(self, tools: dict[str, str], output: int) -> Node:
        """Fork a root from the zygote, with these tools alone: what is injected later is bound in its turn."""
        channel, theirs = open_connection()
        with self._lock:
            try:
                self._zygote.channel.send({"tools": tools}, (theirs.fileno(), output))
            except ConnectionError:  # it was killed, for want of memory say, and with it the episodes of then
                self._zygote.close()
                self._zygote = launch("zygote", self.spec, self.sandbox_level)
                self._zygote.channel.send({"tools": tools}, (theirs.fileno(), output))
        theirs.close()
        handle, _ = receive_handle(channel)
        return Node(channel, handle)

    def close(self) -> None:
        """End the zygote, and with it every episode that is still open."""
        self._zygote.close()
