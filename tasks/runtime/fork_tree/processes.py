"""Which process of an episode runs the next block: the one that lives on, or a new one each time."""

from collections.abc import Sequence
from typing import NamedTuple

from carryover.tasks.runtime.output import Output
from carryover.tasks.runtime.process.node import ForkState, Node, NodeGoneError, open_connection, receive_handle
from carryover.tasks.runtime.process.strays import end_strays


class Frozen(NamedTuple):
    """A frozen copy of a process, and what the copy lacks: threads do not survive a fork."""

    node: Node
    misses_threads: bool
    misses_library_threads: bool
    """Whether threads of a library are missing: the library would wait for them for ever."""
    installed_count: int = 0
    """How many of the engine's bindings it has."""


class Fork:
    """A process that another one was asked to fork: asked for early, taken when it is needed."""

    def __init__(
        self,
        parent: Node,
        *,
        is_sweep: bool = False,
        dropped: Sequence[str] | None = (),
        output: int | None = None,
    ) -> None:
        self._parent = parent
        self._channel, theirs = open_connection()
        descriptors = (theirs.fileno(),) if output is None else (theirs.fileno(), output)
        try:
            parent.send(("fork", is_sweep, dropped), descriptors)
        except NodeGoneError:
            self._channel.close()
            raise
        finally:
            theirs.close()

    def take(self) -> tuple[Node, ForkState]:
        """Return the process and what its parent said of itself; raise `NodeGoneError` where none comes."""
        try:
            handle, state = receive_handle(self._parent.channel, self._parent.resume)
        except NodeGoneError:
            self._channel.close()
            raise
        return Node(self._channel, handle, self._parent.family), state

    def abandon(self) -> None:
        """Close the connection, which ends the process."""
        self._channel.close()


class FreshProcesses:
    """A fork of the root for every block, with an output of its own; the next one waits while the model thinks."""

    def __init__(self, root: Node, output: Output) -> None:
        self.canary: str | None = None
        """By which word the namespace remembers the last block, as its parent said at the last fork."""
        self._root = root
        self._output = output
        self._node: Node | None = None
        self._ahead: Fork | None = Fork(root)

    def next(self) -> Node:
        """Return the process that was forked ahead."""
        if self._ahead is not None:
            ahead, self._ahead = self._ahead, None
            self._node, state = ahead.take()
            self.canary = state.canary
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

    def roll_back(self) -> Frozen | None:
        """Begin with a new process; a stateless episode has no state to go back to."""
        self.finish(None)
        return Frozen(self._root, misses_threads=False, misses_library_threads=False)

    def close(self) -> None:
        """End the process that waits."""
        if self._ahead is not None:
            self._ahead.abandon()
        if self._node is not None:
            self._node.close()


class LiveProcesses:
    """One process that runs every block, and a frozen copy that takes over when it must be killed.

    The copy is forked and the original goes on: threads that a library keeps die in a fork, so the process that has
    them must be the one that runs.
    """

    def __init__(self, root: Node, output: int, live: Node | None = None) -> None:
        self.canary: str | None = None
        self._root = root
        self._output = output
        """Descriptor of what the blocks print."""
        self._live = live or Fork(root).take()[0]
        self._standby: Frozen | None = None
        """The copy of the present state, once it is made."""
        self._ahead: Fork | None = None if live else Fork(self._live)
        self._is_unused_branch = live is not None
        """A branch is copied when it is first used: of a thousand, most may never be."""

    def next(self) -> Node:
        """Return the live process, once its copy is made; without a copy of its present state it counts as gone."""
        if self._is_unused_branch:
            self._is_unused_branch = False
            self._ahead = Fork(self._live)
        if self._ahead is not None:
            ahead, self._ahead = self._ahead, None
            self._standby = self._take(ahead)
        if self._standby is None:
            raise NodeGoneError("the process ended between two steps")
        return self._live

    def holders(self) -> tuple[Node, ...]:
        """Return the live process, and the root for the case that everything is run anew."""
        self.next()
        return (self._root, self._live)

    def finish(self, dropped: Sequence[str] | None) -> None:
        """Freeze the state after the step, and end the copy of the state before it."""
        self.next()
        former, self._standby = self._standby, None
        try:
            self._ahead = Fork(self._live, dropped=dropped)
        finally:
            if former is not None:
                former.node.close()

    def freeze(self, output: int | None = None) -> Frozen:
        """Return a copy of the present state; with an output of its own it can become another live process."""
        self.next()
        return self._take(Fork(self._live, output=output))

    def thaw(self, frozen: Frozen) -> None:
        """Go on from a copy of a frozen state."""
        live, _ = Fork(frozen.node).take()
        self._replace(live)

    def roll_back(self) -> Frozen | None:
        """Let the frozen copy take over."""
        standby, self._standby = self._standby, None
        if standby is not None and standby.node.is_alive():
            self._replace(standby.node)
            return standby
        if standby is not None:
            standby.node.close()
        return None

    def close(self) -> None:
        """End the live process and its copy."""
        if self._ahead is not None:
            self._ahead.abandon()
        if self._standby is not None:
            self._standby.node.close()
        self._live.close()

    def _take(self, fork: Fork) -> Frozen:
        node, state = fork.take()
        if not state.has_output:
            node.close()
            self._live.ask(("output",), (self._output,))
            node, state = Fork(self._live).take()
        self.canary = state.canary
        count = self._live.thread_count()
        return Frozen(node, misses_threads=count > 1, misses_library_threads=count > state.thread_count)

    def _replace(self, live: Node) -> None:
        """Put another process in the place of the live one, and end all that the live one left."""
        self.close()
        self._is_unused_branch = False
        end_strays(self._root)
        self._live = live
        self._standby = None
        self._ahead = Fork(live)
        self.next()  # a process that was killed with the live one shows it here


Processes = FreshProcesses | LiveProcesses
"""The processes under an episode's root that run its blocks."""
