"""An engine that cannot be opened, or branched, leaves no process behind."""

from typing import Any

import pytest

from carryover.tasks.runtime.fork_tree.engine import ForkTreeEngine
from carryover.tasks.runtime.objects import Binding, InjectionError
from carryover.tasks.runtime.process.node import NodeGoneError
from carryover.tasks.runtime.protocol import CONTRACTS


def test_engine_whose_processes_cannot_be_forked_ends_its_root(fork_tree, contract, monkeypatch):
    roots = []

    def grow(engine: ForkTreeEngine) -> None:
        roots.append(engine._root.node)
        raise NodeGoneError("gone")

    monkeypatch.setattr(ForkTreeEngine, "_grow", grow)
    with pytest.raises(NodeGoneError):
        fork_tree.open_interpreter(contract, {}, instance_id="a")
    assert [root.is_alive() for root in roots] == [False]


def test_branch_that_fails_ends_its_root(open_fork_tree, monkeypatch):
    interpreter = open_fork_tree(CONTRACTS["persistent"])
    interpreter.run_block("x = 1")
    interpreter._state.engine._installed.append(Binding(("define", "broken", "1 / 0")))
    roots, grow = [], ForkTreeEngine._grow

    def noting(engine: ForkTreeEngine) -> Any:
        roots.append(engine._root.node)
        return grow(engine)

    monkeypatch.setattr(ForkTreeEngine, "_grow", noting)
    with pytest.raises(InjectionError, match="broken"):
        interpreter.branch()
    assert [root.is_alive() for root in roots] == [False]
    assert interpreter.run_block("x").result == "1"
