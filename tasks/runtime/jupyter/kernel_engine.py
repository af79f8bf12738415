"""A kernel behind the engine's protocol, restored by replay alone."""

import contextlib
import time
from collections.abc import Callable, Sequence

from carryover.tasks.runtime.engine import Block, Dispatch, Engine, FrozenFiles, Recovery, Report
from carryover.tasks.runtime.jupyter.kernel import Kernel
from carryover.tasks.runtime.lifetime import Lifetime
from carryover.tasks.runtime.objects import Binding
from carryover.tasks.runtime.process.attend import attend
from carryover.tasks.runtime.process.node import Canaries, NodeGoneError, parse_canaries
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.runtime.transfer import send_binding

_SETTLE_SECONDS = 1.0
"""Time for Jupyter to answer beyond a block's own."""


class JupyterEngine(Engine):
    """An `Engine` on kernels: one per episode, or per block."""

    def __init__(
        self, lifetime: Lifetime, spec: RuntimeSpec, take: Callable[[], Kernel], tools: dict[str, str]
    ) -> None:
        super().__init__(lifetime, spec)
        self._take = take
        self._tools = tools
        self._packed: FrozenFiles | None = None
        """Files after the last block, where they alone outlive it."""
        self._kernel = self._set_up()

    def canaries(self) -> Canaries:
        """Ask the kernel what its namespace and its scratch folder remember."""
        return parse_canaries(self._kernel.ask(("canaries",)))

    def _next(self) -> Kernel:
        return self._kernel

    def _run(self, process: Kernel, block: Block, answer: Dispatch) -> Report:
        """Send the block as a cell.

        Its tool calls and its report come by the channel.
        """
        end = time.monotonic() + self.spec.block_timeout_seconds + _SETTLE_SECONDS
        process.execute(*block)
        report = attend(process.node, process.keeper, block.step, answer, self.spec)
        if not process.settle(max(_SETTLE_SECONDS, end - time.monotonic())):
            process.ask(("output",), (self._output.descriptor,))
        return report

    def finish(self, dropped: list[str] | None) -> None:
        """Drop names, or continue in the next warm kernel."""
        if self._lifetime.runs_in == "fresh":
            self._packed = self.pack_files()
            self._renew()
            return
        if self.has_folder and not self._lifetime.keeps_files:
            with contextlib.suppress(NodeGoneError):
                self._kernel.ask(("clear",))
        if dropped is None or dropped:
            self.forgets = self.forgets or dropped is None
            with contextlib.suppress(NodeGoneError):  # the next request reports it
                self._kernel.ask(("drop", dropped))

    def roll_back(self) -> Recovery:
        """Start a new kernel, to be restored by replay."""
        self._renew()
        return self.thaw(None)

    def restart(self, installed: Sequence[Binding]) -> None:
        """Continue in the next warm kernel."""
        self.installed = list(installed)
        self._packed = None
        self._renew()

    def install(self, *bindings: Binding) -> None:
        """Bind in this kernel, and in those that will take its place."""
        for binding in bindings:
            send_binding(self._kernel.ask, binding)
        for binding in bindings:
            self.keep(binding)

    def freeze(self) -> FrozenFiles | None:
        """Freeze files at most.

        A kernel's state can only be replayed.
        """
        return self.pack_files()

    def thaw(self, frozen: FrozenFiles | None) -> Recovery:
        """Ask for a replay of the state; a fresh lifetime has none."""
        self.unpack_files(frozen)
        if self._lifetime.runs_in == "live":
            return "incomplete"
        return "complete"

    def branch(self) -> tuple["JupyterEngine", Recovery]:
        """Return another kernel, to be restored by replay."""
        other = JupyterEngine(self._lifetime, self.spec, self._take, self._tools)
        other.install(*self.installed)
        other.unpack_files(self.pack_files())
        return other, self.thaw(None)

    def close(self) -> None:
        """End the kernel."""
        self._kernel.close()
        self._output.close()

    def _renew(self) -> None:
        self._kernel.close()
        self._output.renew()
        self._kernel = self._set_up()
        self.unpack_files(self._packed)

    def _set_up(self) -> Kernel:
        kernel = self._take()
        folder = kernel.folder_settings(keeps=self._lifetime.keeps_files)
        kernel.ask(("setup", self._tools, folder), (self._output.descriptor,))
        for binding in self.installed:
            send_binding(kernel.ask, binding)
        return kernel
