"""The fork tree behind the engine's protocol: messages to the process whose turn it is."""

import contextlib
from collections.abc import Callable, Sequence

from carryover.tasks.runtime.engine import Block, Dispatch, Engine, Recovery, Report
from carryover.tasks.runtime.fork_tree.processes import FreshProcesses, Frozen, FrozenProcess, LiveProcesses
from carryover.tasks.runtime.lifetime import Lifetime
from carryover.tasks.runtime.objects import Binding, InjectionError
from carryover.tasks.runtime.process.attend import attend
from carryover.tasks.runtime.process.memory import private_bytes
from carryover.tasks.runtime.process.node import Node, NodeGoneError
from carryover.tasks.runtime.process.strays import end_strays
from carryover.tasks.runtime.process.watcher import WATCHER
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.runtime.transfer import send_binding

_ROOM_BYTES = 16 << 20
"""For a small block and the copy of its state."""
OpenRoot = Callable[[int], Node]
"""From the descriptor that takes a block's output to a new root."""


class Root(FrozenProcess):
    """An episode's root. It ends strays before itself: they may outlive it."""

    def _end(self) -> None:
        WATCHER.leave(self.node)
        try:
            if self.node.is_alive():
                end_strays(self.node)
        finally:
            self.node.close()


class ForkTreeEngine(Engine):
    """An `Engine` whose namespaces are processes."""

    def __init__(
        self, lifetime: Lifetime, spec: RuntimeSpec, open_root: OpenRoot, *, origin: "ForkTreeEngine | None" = None
    ) -> None:
        """Grow from a root of its own, or from the state of `origin`, whose root and bindings it shares."""
        super().__init__(lifetime, spec)
        self._open_root = open_root
        self.installed = [] if origin is None else list(origin.installed)
        with contextlib.ExitStack() as undone:
            undone.callback(self._output.close)
            self._root = Root(open_root(self._output.descriptor)) if origin is None else origin._root.share()
            undone.callback(self._root.release)
            self._origin = None if origin is None else origin.freeze()
            """The copy of another engine's state that it grew from."""
            self._processes = self._grow()
            undone.pop_all()

    def canary(self) -> str | None:
        """Return what the parent of the next namespace's process remembered when it forked."""
        self._processes.next()
        return self._processes.canary

    def _next(self) -> Node:
        return self._processes.next()

    def _run(self, process: Node, block: Block, answer: Dispatch) -> Report:
        process.send(("run", *block))
        return attend(process, self._root.node, block.step, answer, self.spec)

    def finish(self, dropped: list[str] | None) -> None:
        """End the step and fork ahead."""
        self.forgets = self.forgets or dropped is None
        with contextlib.suppress(NodeGoneError):  # the next request reports it
            self._processes.finish(dropped)

    def roll_back(self) -> Recovery:
        """Go back to the frozen copy, unless it has no room to go on in: every block to come would be killed."""
        try:
            worth = self._processes.roll_back()
            if isinstance(self._processes, LiveProcesses):
                held = private_bytes(self._processes.next().process_id())
                if held + _ROOM_BYTES > self.spec.episode_memory_limit_bytes:
                    self.restart(tuple(self.installed))
                    return "lost"
        except NodeGoneError:
            return "incomplete"
        return worth

    def restart(self, installed: Sequence[Binding]) -> None:
        """Begin again with a new root."""
        self._processes.close()
        self._root.release()
        self._root = Root(self._open_root(self._output.descriptor))
        self._origin = None
        self._processes = self._grow()
        self.forgets = self._lifetime.runs_in == "fresh"
        self.installed = []
        for binding in installed:
            self.install(binding)

    def install(self, *bindings: Binding) -> None:
        """Bind in the root and in the live process, and fork ahead anew."""
        for node in self._processes.holders():
            for binding in bindings:
                send_binding(node.ask, binding)
        self._processes.finish([])
        for binding in bindings:
            self.keep(binding)

    def freeze(self) -> Frozen | None:
        """Return a copy of the state; a fresh lifetime has none."""
        if not isinstance(self._processes, LiveProcesses):
            return None
        return self._processes.freeze()._replace(installed_count=len(self.installed))

    def thaw(self, frozen: Frozen | None) -> Recovery:
        """Go on from a fork of the frozen state, with what was installed since."""
        if frozen is None or not isinstance(self._processes, LiveProcesses):
            return "complete"
        try:
            self._processes.thaw(frozen)
            for binding in self.installed[frozen.installed_count :]:
                send_binding(self._processes.next().ask, binding)
            self._processes.finish([])
        except (NodeGoneError, InjectionError):
            return "incomplete"
        return frozen.worth

    def branch(self) -> tuple["ForkTreeEngine", Recovery]:
        """Return an engine that forks the state when it is used first; a fresh lifetime has no state to fork."""
        origin = self if self._lifetime.runs_in == "live" else None
        other = ForkTreeEngine(self._lifetime, self.spec, self._open_root, origin=origin)
        if other._origin is not None:
            return other, other._origin.worth
        with contextlib.ExitStack() as undone:
            undone.callback(other.close)
            for binding in self.installed:
                other.install(binding)
            undone.pop_all()
        return other, "complete"

    def close(self) -> None:
        """End every process of the episode."""
        self._processes.close()
        self._root.release()
        self._output.close()

    def _grow(self) -> FreshProcesses | LiveProcesses:
        if self._lifetime.runs_in == "live":
            return LiveProcesses(self._root.node, self._output.descriptor, self._origin)
        return FreshProcesses(self._root.node, self._output)
