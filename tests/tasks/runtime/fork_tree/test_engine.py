"""An engine that cannot be opened, or branched, leaves no process behind."""

from typing import Any

import pytest

from carryover.tasks.runtime.contract import CONTRACTS
from carryover.tasks.runtime.fork_tree.engine import ForkTreeEngine
from carryover.tasks.runtime.objects import Binding, InjectionError
from carryover.tasks.runtime.process.node import NodeGoneError


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
    interpreter = open_fork_tree(CONTRACTS["stateless"])  # a branch of a live state shares its root
    interpreter._state.engine.installed.append(Binding(("define", "broken", "1 / 0")))
    roots, grow = [], ForkTreeEngine._grow

    def noting(engine: ForkTreeEngine) -> Any:
        roots.append(engine._root.node)
        return grow(engine)

    monkeypatch.setattr(ForkTreeEngine, "_grow", noting)
    with pytest.raises(InjectionError, match="broken"):
        interpreter.branch()
    assert [root.is_alive() for root in roots] == [False]
    assert interpreter.run_block("1").result == "1"


def test_branch_of_a_live_state_sends_no_binding_again(open_fork_tree, monkeypatch):
    interpreter = open_fork_tree(CONTRACTS["persistent"])
    interpreter.inject("given", [1])
    monkeypatch.setattr("carryover.tasks.runtime.fork_tree.engine.send_binding", None)
    assert interpreter.branch().run_block("given").result == "[1]"
