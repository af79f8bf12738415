"""The fork tree behind the engine's protocol."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from carryover.tasks.runtime.engine import Block, BlockKilledError, Dispatch, Engine, FrozenFiles, Recovery, Report
from carryover.tasks.runtime.fork_tree.processes import FreshProcesses, Frozen, FrozenProcess, LiveProcesses
from carryover.tasks.runtime.fork_tree.turn import FolderTurn
from carryover.tasks.runtime.lifetime import Lifetime
from carryover.tasks.runtime.objects import Binding, InjectionError
from carryover.tasks.runtime.process.attend import attend
from carryover.tasks.runtime.process.memory import private_bytes
from carryover.tasks.runtime.process.node import Canaries, Node, NodeGoneError, StateLostError, parse_canaries
from carryover.tasks.runtime.process.strays import end_strays
from carryover.tasks.runtime.process.watcher import WATCHER
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.runtime.transfer import send_binding

_SPARE_PROCESSES = 4
"""The copy that the next step needs, and what a block is checked by."""
_ROOM_BYTES = 16 << 20
"""For a small block and the copy of its state."""


class Root(FrozenProcess):
    """An episode's root. It ends strays before itself: they may outlive it."""

    def __init__(self, node: Node, remove_folder: Callable[[], None]) -> None:
        super().__init__(node)
        self.turn = FolderTurn()
        self._remove_folder = remove_folder

    def _end(self) -> None:
        WATCHER.leave(self.node)
        try:
            if self.node.is_alive():
                end_strays(self.node)
        finally:
            self.node.close()
            self._remove_folder()


OpenRoot = Callable[[int], Root]
"""From the descriptor that takes a block's output to a new root."""


class ForkTreeEngine(Engine):
    """An `Engine` whose namespaces are processes."""

    def __init__(
        self, lifetime: Lifetime, spec: RuntimeSpec, open_root: OpenRoot, *, origin: "ForkTreeEngine | None" = None
    ) -> None:
        """Grow from a new root, or from the state of `origin`.

        A branch shares the root and the bindings of its origin.
        """
        super().__init__(lifetime, spec)
        self._is_over = False
        self._turn: FolderTurn | None = None
        """The folder's turn, while this state has it."""
        self._open_root = open_root
        self.installed = [] if origin is None else list(origin.installed)
        with contextlib.ExitStack() as undone:
            undone.callback(self._output.close)
            self._root = open_root(self._output.descriptor) if origin is None else origin._root.share()
            undone.callback(self._root.release)
            self._origin = None if origin is None else origin.freeze_process()
            """The copy of another engine's state that it grew from."""
            self._processes = self._grow()
            undone.pop_all()

    def canaries(self) -> Canaries:
        """Return the words by which the next namespace remembers a block.

        Its process got them from its parent, which remembered when it forked.

        What a folder remembers that holds the files of another state is read once they are put back.
        """
        live = self._processes.next()
        if not self.has_folder or not isinstance(self._processes, LiveProcesses):
            return self._processes.canaries
        if not self._processes.is_resumed and not self._root.turn.is_anothers(self):
            return self._processes.canaries
        with self._folder():
            return parse_canaries(live.ask(("canaries",)))

    def _next(self) -> Node:
        if self._is_over:
            raise NodeGoneError("no process is left")
        return self._processes.next()

    def _run(self, process: Node, block: Block, answer: Dispatch) -> Report:
        process.send(("run", *block))
        return attend(process, self._root.node, block.step, answer, self.spec)

    def execute(self, block: Block, answer: Dispatch) -> Report:
        """Run a block as `Engine` does, in the folder's turn.

        The turn lasts until the step is finished or undone.
        """
        self._take_turn()
        try:
            return super().execute(block, answer)
        except (BlockKilledError, StateLostError):
            raise
        except BaseException:
            self._give_turn_back()
            raise

    def finish(self, dropped: list[str] | None) -> None:
        """End the step and fork ahead."""
        self.forgets = self.forgets or dropped is None
        try:
            with contextlib.suppress(NodeGoneError):  # the next request reports it
                self._processes.finish(dropped)
                if self._root.is_shared:  # the process forks, and looks at the folder, before another one's turn
                    self._processes.next()
        finally:
            self._give_turn_back()

    def roll_back(self) -> Recovery:
        """Go back to the frozen copy, if it has room.

        Without room every block to come would be killed.
        """
        if self._is_over:
            return "incomplete"
        try:
            worth = self._processes.roll_back()
            if isinstance(self._processes, LiveProcesses):
                if self._turn is not None:  # here a failure undoes no block that ended well
                    self._restore_files(self._processes.next())
                held = private_bytes(self._processes.next().process_id())
                if held + _ROOM_BYTES > self.spec.episode_memory_limit_bytes:
                    self.restart(tuple(self.installed))
                    return "lost"
        except NodeGoneError:
            return "incomplete"
        finally:
            self._give_turn_back()
        return worth

    def due_notices(self) -> tuple[str, ...]:
        """Return notices on shared objects that could not be put back."""
        if not isinstance(self._processes, LiveProcesses):
            return ()
        due = tuple(self._processes.due_notices)
        self._processes.due_notices.clear()
        return due

    def restart(self, installed: Sequence[Binding]) -> None:
        """Begin again with a new root."""
        self._let_go()
        self._root = self._open_root(self._output.descriptor)
        self._is_over = False
        self._origin = None
        self._processes = self._grow()
        self.forgets = self._lifetime.runs_in == "fresh"
        self.installed = []
        for binding in installed:
            self.install(binding)

    def install(self, *bindings: Binding) -> None:
        """Bind in root and live process, and fork ahead anew."""
        with self._folder():
            # Every process that later ones are forked from: a rollback must not lose what was installed.
            for node in self._processes.holders():
                for binding in bindings:
                    send_binding(node.ask, binding)
            self._processes.finish([])
        for binding in bindings:
            self.keep(binding)

    def freeze(self) -> Frozen | FrozenFiles | None:
        """Return a copy of the state; of fresh lifetimes, files alone."""
        if isinstance(self._processes, LiveProcesses):
            return self.freeze_process()
        return self.pack_files()

    def freeze_process(self) -> Frozen:
        """Return a copy of the live process."""
        assert isinstance(self._processes, LiveProcesses)
        self._require_room()
        return self._processes.freeze()._replace(installed_count=len(self.installed))

    def _require_room(self) -> None:
        """Raise `ValueError` if a frozen process leaves no room to step."""
        held = sum(max(1, node.thread_count()) for node in tuple(self._root.node.family))
        limit = self.spec.process_limit
        if held + _SPARE_PROCESSES > limit:
            raise ValueError(
                f"no room for another snapshot or branch: {held} processes and threads are there, process_limit is "
                f"{limit}; close snapshots and branches, or raise it"
            )

    def thaw(self, frozen: Frozen | FrozenFiles | None) -> Recovery:
        """Continue from a fork of the frozen state.

        What was installed since is installed there, too.
        """
        if isinstance(frozen, FrozenFiles):
            self.unpack_files(frozen)
        if frozen is None or isinstance(frozen, FrozenFiles) or not isinstance(self._processes, LiveProcesses):
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
        """Return an engine that forks this state when first used.

        A fresh lifetime has no state to fork.
        """
        origin = None
        if self._lifetime.runs_in == "live":
            origin = self
        # It holds one frozen copy and no process of its own: a hundred branches cost what the used ones cost.
        other = ForkTreeEngine(self._lifetime, self.spec, self._open_root, origin=origin)
        if other._origin is not None:
            return other, other._origin.worth
        with contextlib.ExitStack() as undone:
            undone.callback(other.close)
            for binding in self.installed:
                other.install(binding)
            other.unpack_files(self.pack_files())
            undone.pop_all()
        return other, "complete"

    def close(self) -> None:
        """End every process of the episode."""
        self._let_go()
        self._output.close()

    def _let_go(self) -> None:
        """End the processes, once.

        No others come where the sandbox does not start again.
        """
        if not self._is_over:
            self._is_over = True
            self._processes.close()
            self._root.release()

    def _grow(self) -> FreshProcesses | LiveProcesses:
        if self._lifetime.runs_in == "live":
            return LiveProcesses(self._root.node, self._output.descriptor, self._origin)
        restores_files = self.has_folder and self._lifetime.keeps_files
        return FreshProcesses(self._root.node, self._output, restores_files=restores_files)

    def unpack_files(self, packed: FrozenFiles | None) -> None:
        """Fill the scratch folder with packed files, and fork ahead.

        Raise `InjectionError` if that fails.
        """
        super().unpack_files(packed)
        if packed is not None:
            self._processes.finish(None)

    def _ask_keeper(self, *message: Any) -> Any:
        """Ask the root, which can put the files back.

        Every block's process is a fork of it.
        """
        self._processes.next()
        return self._root.node.ask(*message)

    @contextlib.contextmanager
    def _folder(self) -> Iterator[None]:
        """Use the folder that the episode's branches share."""
        self._take_turn()
        try:
            yield
        finally:
            self._give_turn_back()

    def _take_turn(self) -> None:
        """Wait for the folder, and restore this state's files.

        Another state may have used it, or this one is resumed.
        """
        self._give_turn_back()
        if self._is_over or not self.has_folder or not isinstance(self._processes, LiveProcesses):
            return
        turn = self._root.turn
        is_anothers = turn.take(self)
        self._turn = turn
        live = self._processes.next()
        if is_anothers or self._processes.is_resumed:
            self._restore_files(live)
            self._processes.is_resumed = False

    def _restore_files(self, live: Node) -> None:
        """Put this state's files back, in the folder's turn; raise `NodeGoneError` if that fails."""
        if problem := live.ask(("restore",)):
            self._processes.close()  # no copy of this state could put them back either
            raise NodeGoneError(f"the scratch folder cannot be put back: {problem!s:.1000}")

    def _give_turn_back(self) -> None:
        if self._turn is not None:
            turn = self._turn
            self._turn = None
            turn.give_back()
