"""An engine that cannot be opened, or branched, leaves no process behind."""

from typing import Any

import pytest

from carryover.tasks.runtime.contract import CONTRACTS
from carryover.tasks.runtime.fork_tree import fork_engine as module
from carryover.tasks.runtime.fork_tree.processes import FreshProcesses
from carryover.tasks.runtime.objects import Binding, InjectionError
from carryover.tasks.runtime.process.node import Node, NodeGoneError
from tests.tasks.runtime.opened import engine_of


def test_engine_whose_processes_cannot_be_forked_ends_its_root(fork_tree, contract, monkeypatch):
    roots = []

    def refuse(root: Node, *_: Any, **_named: Any) -> None:
        roots.append(root)
        raise NodeGoneError("gone")

    for processes in ("LiveProcesses", "FreshProcesses"):
        monkeypatch.setattr(module, processes, refuse)
    with pytest.raises(NodeGoneError):
        fork_tree.open_interpreter(contract, {}, instance_id="a")
    assert [root.is_alive() for root in roots] == [False]


def test_branch_that_fails_ends_its_root(open_fork_tree, monkeypatch):
    interpreter = open_fork_tree(CONTRACTS["stateless"])  # a branch of a live state shares its root
    engine_of(interpreter).installed.append(Binding(("define", "broken", "1 / 0")))
    roots = []

    def noting(root: Node, *others: Any, **named: Any) -> FreshProcesses:
        roots.append(root)
        return FreshProcesses(root, *others, **named)

    monkeypatch.setattr(module, "FreshProcesses", noting)
    with pytest.raises(InjectionError, match="broken"):
        interpreter.branch()
    assert [root.is_alive() for root in roots] == [False]
    assert interpreter.run_block("1").result == "1"


def test_branch_of_a_live_state_sends_no_binding_again(open_fork_tree, monkeypatch):
    interpreter = open_fork_tree(CONTRACTS["persistent"])
    interpreter.inject("given", [1])
    monkeypatch.setattr("carryover.tasks.runtime.fork_tree.fork_engine.send_binding", None)
    assert interpreter.branch().run_block("given").result == "[1]"
