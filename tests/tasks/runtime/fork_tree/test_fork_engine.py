"""An engine that cannot be opened, or branched, leaves no process behind."""

import os
from typing import Any

import pytest

from carryover.tasks.runtime import notices
from carryover.tasks.runtime.contract import CONTRACTS
from carryover.tasks.runtime.fork_tree import fork_engine as module
from carryover.tasks.runtime.fork_tree.processes import FreshProcesses, _notices_on_shared
from carryover.tasks.runtime.objects import Binding, InjectionError
from carryover.tasks.runtime.process.memory import shared_mappings
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


class Forged(Node):
    """A process that answers as it likes."""

    __slots__ = ("answer",)

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def ask(self, message: Any, *_others: Any, **_named: Any) -> Any:
        assert message == ("resume",)
        return self.answer

    def process_id(self) -> int:
        return os.getpid()


@pytest.mark.parametrize(
    "answer",
    [
        {"pipes": ["3"], "changed": [], "held": []},
        {"pipes": [], "changed": [True], "held": []},
        {"pipes": [*range(10_000)], "changed": [], "held": []},
        {"pipes": [], "changed": []},
    ],
)
def test_a_forged_answer_about_what_is_shared_ends_its_process(answer):
    with pytest.raises(NodeGoneError, match="not an answer about what is shared"):
        _notices_on_shared(Forged(answer), is_branch=False)


def test_pipes_are_named_to_a_branch_and_changed_files_to_others():
    answer = {"pipes": [3, 4], "changed": [5], "held": shared_mappings_of_this_process()}
    assert _notices_on_shared(Forged(answer), is_branch=True) == [notices.PIPES_SHARED.format(descriptors="3, 4")]
    assert _notices_on_shared(Forged(answer), is_branch=False) == [notices.PIPES_CHANGED.format(descriptors="5")]


def shared_mappings_of_this_process():
    return [[start, size] for start, size in shared_mappings(os.getpid())]
