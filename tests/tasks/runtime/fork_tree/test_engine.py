"""An engine that cannot be opened, or branched, leaves no process behind."""

import os
import time

import pytest

from tasks.runtime.fork_tree.engine import ForkTreeEngine
from tasks.runtime.objects import Binding, InjectionError
from tasks.runtime.process.descendants import descendants
from tasks.runtime.process.node import NodeGoneError
from tasks.runtime.protocol import CONTRACTS


def wait_until_gone(processes: set[int]) -> None:
    """Wait until none of these processes is left; fail after a minute."""
    deadline = time.monotonic() + 60
    while processes.intersection(descendants(os.getpid())):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_engine_whose_processes_cannot_be_forked_ends_its_root(fork_tree, contract, monkeypatch):
    roots = []

    def grow(engine: ForkTreeEngine) -> None:
        roots.append(engine._root.node)
        raise NodeGoneError("gone")

    monkeypatch.setattr(ForkTreeEngine, "_grow", grow)
    with pytest.raises(NodeGoneError):
        fork_tree.open_interpreter(contract, {}, instance_id="a")
    assert [root.is_alive() for root in roots] == [False]


def test_branch_that_fails_leaves_nothing(open_fork_tree):
    interpreter = open_fork_tree(CONTRACTS["persistent"])
    interpreter.run_block("x = 1")
    known = set(descendants(os.getpid()))
    interpreter._state.engine._installed.append(Binding(("define", "broken", "1 / 0")))
    with pytest.raises(InjectionError, match="broken"):
        interpreter.branch()
    wait_until_gone(set(descendants(os.getpid())) - known)
    assert interpreter.run_block("x").result == "1"
