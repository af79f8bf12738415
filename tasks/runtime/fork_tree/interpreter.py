"""One episode's interpreter as a tree of processes: the lifetime policy says which of them runs a block.

A live lifetime runs every block in one process, and a frozen copy of it, forked after each step, takes over when a
block must be killed. A fresh one runs each block in a fork of the root. Either way the next fork is asked for when a
step ends, so that it happens while the model thinks.
"""

import hashlib
import os
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from tasks.runtime.fork_tree.exchange import receive, receive_node
from tasks.runtime.fork_tree.node import Node, NodeGoneError, open_connection
from tasks.runtime.fork_tree.report import Report, parse_report
from tasks.runtime.inside.wire import Channel
from tasks.runtime.lifetime import Bindings, lifetime_of
from tasks.runtime.protocol import BlockError, BlockResult, Contract, Snapshot
from tasks.runtime.spec import RuntimeSpec
from tasks.runtime.tools import ToolTable

ROLLED_BACK = "The interpreter was rolled back to its state before this step."
LOST = "The interpreter was lost: every name is gone."


class _Ended(NamedTuple):
    """A block that ended without a report."""

    type: str
    message: str


class ForkTreeInterpreter:
    """An `Interpreter` whose states are processes."""

    def __init__(
        self,
        contract: Contract,
        tools: ToolTable,
        *,
        spec: RuntimeSpec,
        seed_text: str,
        open_root: Callable[[dict[str, str], int], Node],
    ) -> None:
        self.contract = contract
        self._lifetime = lifetime_of(contract)
        self._bindings = Bindings(self._lifetime)
        self._tools = tools
        self._spec = spec
        self._seed_text = seed_text
        self._open_root = open_root
        self._output = os.memfd_create("output", os.MFD_CLOEXEC)
        self._step = 0
        self._canary: int | None = None
        self._seen_canary: int | None = None
        self._names: tuple[str, ...] = ()
        self._standby: Node | None = None
        self._live: Node | None = None
        self._pending: tuple[Node, Channel] | None = None
        self._is_closed = False
        self._root = self._start()

    def run_block(self, code: str) -> BlockResult:
        """Run a block; whatever it does is an observation."""
        started = time.perf_counter()
        self._step += 1
        self._tools.start_block()
        self._clear_output()
        try:
            node = self._settle()
            node.send(("run", self._step, self._seed(), code))
            ended = self._attend(node)
        except NodeGoneError:
            ended = _Ended("InterpreterDied", "InterpreterDied: the interpreter's process ended while the block ran.")
        if isinstance(ended, Report):
            return self._keep(code, ended, started)
        return self._roll_back(ended, started)

    def drop_name(self, name: str) -> bool:
        """Remove a user name before the next block; tell whether it was there."""
        if self._lifetime.runs_in == "fresh":
            return False
        node = self._settle()
        node.send(("drop", [name]))
        ...

    def verify_contract(self) -> bool:
        """Tell whether the namespace of the next block holds what the lifetime policy says it holds."""
        try:
            self._settle()
        except NodeGoneError:
            return False
        return self._seen_canary == self._canary

    def close(self) -> None:
        """End every process and free every file of the episode."""
        if self._is_closed:
            return
        self._is_closed = True
        for node in (self._live, self._standby, self._root):
            if node is not None:
                node.close()
        if self._pending is not None:
            self._pending[1].close()
        os.close(self._output)
