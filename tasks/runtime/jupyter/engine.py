"""A kernel behind the engine's protocol. It cannot go back in time: a killed one takes its state along."""

import logging
from collections.abc import Sequence

from tasks.runtime.engine import Answer, Block, BlockKilledError, ProtocolError, Recovery, Report, StateLostError
from tasks.runtime.jupyter.kernel import Kernel
from tasks.runtime.jupyter.pool import KernelPool
from tasks.runtime.lifetime import Lifetime
from tasks.runtime.objects import Binding, RetrievalError, bind_value
from tasks.runtime.output import Output
from tasks.runtime.process.attend import attend
from tasks.runtime.process.node import NodeGoneError
from tasks.runtime.spec import RuntimeSpec
from tasks.runtime.transfer import Fetched, fetch, send_binding

logger = logging.getLogger(__name__)


class JupyterEngine:
    """An `Engine` whose namespace is a kernel's: one for the episode, or a new one for each block."""

    def __init__(self, lifetime: Lifetime, spec: RuntimeSpec, pool: KernelPool, tools: dict[str, str]) -> None:
        self._lifetime = lifetime
        self._spec = spec
        self._pool = pool
        self._tools = tools
        self._installed: list[Binding] = []
        self._output = Output()
        self.forgets = lifetime.runs_in == "fresh"
        """Whether a step's end has ever let everything go."""
        self._kernel = self._take()

    def canary(self) -> str | None:
        """Ask the kernel what its namespace remembers."""
        try:
            return self._kernel.ask(("canary",))
        except NodeGoneError as error:
            raise StateLostError(str(error)) from error

    def execute(self, block: Block, answer: Answer) -> Report:
        """Send the block as a cell; its tool calls and its report come by the channel."""
        node = self._kernel.node
        self._output.clear()
        try:
            self._kernel.execute(block.step, block.seed, block.code)
            report = attend(node, self._kernel.keeper, block.step, answer, self._spec)
            if not self._kernel.settle():
                self._kernel.ask(("output",), (self._output.descriptor,))
        except (NodeGoneError, ProtocolError) as error:
            logger.info("block %d ended its kernel, or nobody answers any more: %s", block.step, ascii(str(error)))
            reason = "the interpreter's process ended while the block ran (a crash, an exit or a kill)"
            raise BlockKilledError("InterpreterDied", reason) from error
        return report

    def output(self) -> str:
        """Return what was written to the kernel's descriptors 1 and 2."""
        return self._output.read(self._spec.output_limit_bytes)

    def keep_output(self, name: str) -> None:
        """Bind the output to a name of the user's."""
        binding = bind_value(name, self.output(), is_user=True, limit_bytes=self._spec.object_limit_bytes)
        send_binding(self._kernel.ask, binding)

    def finish(self, dropped: list[str] | None) -> None:
        """Drop names, or go on in the next warm kernel."""
        if self._lifetime.runs_in == "fresh":
            self._renew()
        elif dropped is None or dropped:
            self.forgets = self.forgets or dropped is None
            try:
                self._kernel.ask(("forget", dropped))
            except NodeGoneError:
                return  # whoever needs the kernel next finds out, and says so

    def roll_back(self) -> Recovery:
        """Begin with a new kernel: the state went with the old one, if there was any to keep."""
        self._renew()
        return "lost" if self._lifetime.runs_in == "live" else "complete"

    @property
    def installed(self) -> tuple[Binding, ...]:
        """What was installed, in order."""
        return tuple(self._installed)

    def restart(self, installed: Sequence[Binding]) -> None:
        """Go on in the next warm kernel."""
        self._installed = list(installed)
        self._renew()

    def drop(self, name: str) -> bool:
        """Remove a name from the kernel's namespace."""
        try:
            return self._kernel.ask(("drop", [name])) == 1
        except NodeGoneError as error:
            raise StateLostError(str(error)) from error

    def install(self, binding: Binding) -> None:
        """Bind in this kernel, and in those that will take its place."""
        try:
            send_binding(self._kernel.ask, binding)
        except NodeGoneError as error:
            raise StateLostError(str(error)) from error
        self._installed.append(binding)

    def fetch(self, name: str) -> Fetched:
        """Ask the kernel for a variable."""
        try:
            return fetch(self._kernel.ask, name, self._spec.object_limit_bytes)
        except NodeGoneError as error:
            raise RetrievalError(f"{name}: the interpreter ended while it was read") from error

    def freeze(self) -> None:
        """Freeze nothing: a kernel's state can only be brought about again."""

    def thaw(self, frozen: None) -> Recovery:
        """Ask for the state to be brought about again; a fresh lifetime has none."""
        return "incomplete" if self._lifetime.runs_in == "live" else "complete"

    def branch(self) -> tuple["JupyterEngine", Recovery]:
        """Return another kernel, in which the state is to be brought about again."""
        other = JupyterEngine(self._lifetime, self._spec, self._pool, self._tools)
        for binding in self._installed:
            other.install(binding)
        return other, self.thaw(None)

    def close(self) -> None:
        """End the kernel."""
        self._kernel.close()
        self._output.close()

    def _renew(self) -> None:
        self._kernel.close()
        self._output.renew()
        self._kernel = self._take()

    def _take(self) -> Kernel:
        kernel = self._pool.take()
        kernel.ask(("setup", self._tools), (self._output.descriptor,))
        for binding in self._installed:
            send_binding(kernel.ask, binding)
        return kernel
