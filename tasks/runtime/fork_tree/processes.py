"""Choice of the next block's process: live, or new."""

import threading
from collections.abc import Sequence
from typing import NamedTuple, Self

from carryover.tasks.runtime import notices
from carryover.tasks.runtime.engine import Recovery
from carryover.tasks.runtime.output import Output
from carryover.tasks.runtime.process.memory import shared_mappings
from carryover.tasks.runtime.process.node import (
    Canaries,
    ForkState,
    Node,
    NodeGoneError,
    open_connection,
    receive_handle,
)
from carryover.tasks.runtime.process.strays import end_strays

_NAMED_LIMIT = 10_000
"""Descriptors that a process may name."""


class Fork:
    """A process forked ahead: taken when needed, ended with its channel."""

    def __init__(
        self, parent: Node, *, is_sweep: bool = False, dropped: Sequence[str] | None = (), output: int | None = None
    ) -> None:
        self._parent = parent
        self.channel, theirs = open_connection()
        descriptors = (theirs.fileno(),) if output is None else (theirs.fileno(), output)
        try:
            parent.send(("fork", is_sweep, dropped), descriptors)
        except NodeGoneError:
            self.channel.close()
            raise
        finally:
            theirs.close()

    def take(self) -> tuple[Node, ForkState]:
        """Return the process and its parent's word, or raise `NodeGoneError`."""
        try:
            handle, state = receive_handle(self._parent.channel, self._parent.resume)
        except NodeGoneError:
            self.channel.close()
            raise
        return Node(self.channel, handle, self._parent.family), state


class FrozenProcess:
    """A template process: it runs no block and forks one per step."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self._user_count = 1
        self._lock = threading.Lock()

    def share(self) -> Self:
        """Count one more who may continue from it."""
        with self._lock:
            self._user_count += 1
        return self

    @property
    def is_shared(self) -> bool:
        """Whether more than one may continue from it."""
        return self._user_count > 1

    def fork(self, output: int) -> tuple[Node, ForkState]:
        """Return a fork that prints to a descriptor, or raise `NodeGoneError`."""
        with self._lock:
            try:
                return Fork(self.node, output=output).take()
            except NodeGoneError:
                self.node.end()  # a late answer would be read as that of the next fork
                raise

    def release(self) -> None:
        """Count one less."""
        with self._lock:
            self._user_count -= 1
            if self._user_count == 0:
                self._end()

    def _end(self) -> None:
        self.node.close()


class Frozen(NamedTuple):
    """A frozen copy of a process."""

    process: FrozenProcess
    worth: Recovery
    """Recovery quality of the copy: threads do not survive a fork, and a library would wait for its own."""
    installed_count: int = 0
    """How many of the engine's bindings it has."""

    def release(self) -> None:
        """Count one less who may continue from it."""
        self.process.release()


class FreshProcesses:
    """A fork of the root for every block, one waiting ahead.

    Each has an output of its own.
    """

    def __init__(self, root: Node, output: Output, *, restores_files: bool) -> None:
        self._restores_files = restores_files
        self.canaries = Canaries()
        """As the parent of the next process said at the last fork."""
        self._root = root
        self._output = output
        self._node: Node | None = None
        self._ahead: Fork | None = Fork(root)

    def next(self) -> Node:
        """Return the process that was forked ahead."""
        if self._ahead is not None:
            ahead = self._ahead
            self._ahead = None
            self._node, state = ahead.take()
            self.canaries = state.canaries
            if state.has_strays:
                end_strays(self._root)
        if self._node is None:
            raise NodeGoneError("the root is gone")
        return self._node

    def holders(self) -> tuple[Node, ...]:
        """Return the root: every later process is a fork of it."""
        self.next()
        return (self._root,)

    def finish(self, dropped: Sequence[str] | None) -> None:
        """End the block's process with all that it holds, its output included."""
        if self._node is not None:
            self._node.close()
            self._node = None
        if self._ahead is None:
            self._ahead = Fork(self._root, is_sweep=True, output=self._output.renew())

    def roll_back(self) -> Recovery:
        """Begin with a new process.

        A stateless episode has no state to go back to, but it may keep files.
        """
        if self._restores_files and self._ahead is None and self._node is not None:
            # The block has begun. It must end before its files are put back: it could go on writing to them.
            self._node.end()
            if problem := self._root.ask(("restore",)):
                raise NodeGoneError(f"{problem!s:.1000}")
        self.finish(None)
        return "complete"

    def close(self) -> None:
        """End the process that waits."""
        if self._ahead is not None:
            self._ahead.channel.close()
        if self._node is not None:
            self._node.close()


class LiveProcesses:
    """One process for every block, and a frozen copy to take over.

    The copy is forked and the original goes on: threads that a library keeps die in a fork, so the process that has
    them must be the one that runs.
    """

    def __init__(self, root: Node, output: int, origin: Frozen | None = None) -> None:
        self.canaries = Canaries()
        self._root = root
        self._output = output
        """Descriptor of what the blocks print."""
        self._live: Node | None = None
        """A branch has none until it is used: of a thousand, most may never be."""
        self._standby = origin
        """The copy of the present state, once it is made."""
        self._ahead: Fork | None = None
        self.is_resumed = False
        """Whether the live process has gone on from a copy, and not put its files back yet."""
        self.due_notices: list[str] = []
        """Notices for the model about what could not be put back."""
        self._is_branch = origin is not None
        if origin is None:
            self._live, _ = Fork(root).take()
            self._ahead = Fork(self._live)

    def next(self) -> Node:
        """Return the live process, once its copy is made.

        Without a copy of its present state it counts as gone.
        """
        if self._ahead is not None:
            # Asked for at the end of the last step: it was forked while the model thought.
            ahead = self._ahead
            self._ahead = None
            self._standby = self._take(ahead)
        if self._standby is None:
            raise NodeGoneError("the process ended between two steps")
        if self._live is None:
            self._go_on_from(self._standby)
        assert self._live is not None
        return self._live

    def holders(self) -> tuple[Node, ...]:
        """Return the live process, and the root for replays."""
        return (self._root, self.next())

    def finish(self, dropped: Sequence[str] | None) -> None:
        """Freeze the state after the step; end the copy before."""
        live = self.next()
        # From here on no copy counts: a kill before the new one is made must not bring the state before the step back.
        former = self._standby
        self._standby = None
        try:
            self._ahead = Fork(live, dropped=dropped)
        finally:
            if former is not None:
                former.release()

    def freeze(self) -> Frozen:
        """Return the copy of the present state, for another holder."""
        self.next()
        if self._standby is not None and self._standby.worth != "complete":  # its threads have gone on since
            self.finish(())
            self.next()
        assert self._standby is not None
        return self._standby._replace(process=self._standby.process.share())

    def thaw(self, frozen: Frozen) -> None:
        """Continue from a frozen state."""
        frozen.process.share()
        self._end()
        self._go_on_from(frozen)

    def roll_back(self) -> Recovery:
        """Continue from the frozen copy; raise `NodeGoneError` if it ended as well."""
        standby = self._standby
        if standby is None:
            self._end()
            raise NodeGoneError("no copy of the state is left")
        self.thaw(standby)
        return standby.worth

    def close(self) -> None:
        """End the live process and its copy."""
        if self._ahead is not None:
            self._ahead.channel.close()
        if self._standby is not None:
            self._standby.release()
        if self._live is not None:
            self._live.close()
        self._live = self._standby = self._ahead = None

    def _end(self) -> None:
        """End the live process with its copy and all that it left."""
        self.close()
        end_strays(self._root)

    def _go_on_from(self, frozen: Frozen) -> None:
        """Fork a live process from a copy, which stays."""
        self._standby = frozen._replace(worth="complete")
        self.is_resumed = True
        self._live, state = frozen.process.fork(self._output)
        self.due_notices += _notices_on_shared(self._live, is_branch=self._is_branch)
        self._is_branch = False
        self.canaries = state.canaries

    def _take(self, fork: Fork) -> Frozen:
        assert self._live is not None
        node, state = fork.take()
        if not state.has_output:
            # A block closed its output, and so has the copy: give the original another, and copy it again.
            node.close()
            self._live.ask(("output",), (self._output,))
            node, state = Fork(self._live).take()
        self.canaries = state.canaries
        return Frozen(FrozenProcess(node), _worth_of_copy(self._live.thread_count(), state.thread_count))


def _worth_of_copy(thread_count: int, known_to_python: int) -> Recovery:
    """Return a copy's recovery quality by the threads of its original."""
    # A library's own threads may hold locks that nobody in the copy would ever release.
    if thread_count > known_to_python:
        return "incomplete"
    if thread_count > 1:
        return "without_threads"
    return "complete"


def _notices_on_shared(live: Node, *, is_branch: bool) -> list[str]:
    """Resume a process from a copy; return notices on shared objects."""
    match live.ask(("resume",)):
        case {"pipes": list(pipes), "changed": list(changed), "held": list(held)} if _are_numbers(*pipes, *changed):
            named = pipes if is_branch else changed
            notice = notices.PIPES_SHARED if is_branch else notices.PIPES_CHANGED
        case answer:
            raise NodeGoneError(f"not an answer about what is shared: {answer!r:.200}")
    due = []
    if named:
        due = [notice.format(descriptors=", ".join(map(str, named)))]
    addresses = {start for start, _ in held}
    size = sum(size for start, size in shared_mappings(live.process_id()) if start not in addresses)
    if size:
        return [*due, notices.MEMORY_SHARED.format(size=size)]
    return due


def _are_numbers(*values: object) -> bool:
    return len(values) < _NAMED_LIMIT and all(type(value) is int for value in values)
