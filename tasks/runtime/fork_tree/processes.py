"""Which process of an episode runs the next block: the one that lives on, or a new one each time."""

from collections.abc import Sequence
from typing import Protocol

from tasks.runtime.fork_tree.node import Fork, Node, NodeGoneError
from tasks.runtime.fork_tree.strays import end_strays


class Processes(Protocol):
    """The processes under an episode's root."""

    canary: int | None
    """What the parent of the last fork said: the step whose end its namespace remembers."""

    def next(self) -> Node:
        """Return the process that runs the next block; raise `NodeGoneError` when there is none."""
        ...

    def finish(self, dropped: Sequence[str] | None) -> None:
        """End a step that went well, and fork ahead."""
        ...

    def roll_back(self) -> bool:
        """End what is left of a step that was killed; tell whether the state before it is there."""
        ...

    def close(self) -> None:
        """End all processes but the root."""
        ...


class FreshProcesses:
    """A fork of the root for every block; the next one waits while the model thinks."""

    def __init__(self, root: Node) -> None:
        self.canary: int | None = None
        self._root = root
        self._node: Node | None = None
        self._ahead: Fork | None = Fork(root)

    def next(self) -> Node:
        """Return the process that was forked ahead."""
        if self._ahead is not None:
            ahead, self._ahead = self._ahead, None
            self._node, state = ahead.take()
            self.canary = state["canary"]
            if state["has_strays"]:
                end_strays(self._root, spared=[self._node])
        if self._node is None:
            raise NodeGoneError("the root is gone")
        return self._node

    def finish(self, dropped: Sequence[str] | None) -> None:
        """End the block's process with all that it holds."""
        if self._node is not None:
            self._node.close()
            self._node = None
        if self._ahead is None:
            self._ahead = Fork(self._root, is_sweep=True)

    def roll_back(self) -> bool:
        """A fresh process has no state to go back to."""
        self.finish(None)
        return True

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

    def __init__(self, root: Node) -> None:
        self.canary: int | None = None
        self._root = root
        self._live, _ = Fork(root).take()
        self._standby: Node | None = None
        self._is_standby_current = False
        self._ahead: Fork | None = Fork(self._live)

    def next(self) -> Node:
        """Return the live process, once its copy is made."""
        if self._ahead is not None:
            ahead, self._ahead = self._ahead, None
            standby, state = ahead.take()
            self.canary = state["canary"]
            if self._standby is not None:
                self._standby.close()
            self._standby, self._is_standby_current = standby, True
        return self._live

    def finish(self, dropped: Sequence[str] | None) -> None:
        """Freeze the state after the step."""
        self._is_standby_current = False
        self._ahead = Fork(self._live, dropped=dropped)

    def roll_back(self) -> bool:
        """Let the frozen copy take over."""
        self._live.close()
        if self._ahead is not None:
            self._ahead.abandon()
            self._ahead = None
        standby, self._standby = self._standby, None
        end_strays(self._root, spared=[standby] if standby is not None else [])
        if standby is None or not standby.is_alive() or not self._is_standby_current:
            if standby is not None:
                standby.close()
            self._live, _ = Fork(self._root).take()
            self._ahead = Fork(self._live)
            return False
        self._live = standby
        self._ahead = Fork(standby)
        return True

    def close(self) -> None:
        """End the live process and its copy."""
        if self._ahead is not None:
            self._ahead.abandon()
        self._live.close()
        if self._standby is not None:
            self._standby.close()
