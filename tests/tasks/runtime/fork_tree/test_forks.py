"""How often the fork tree forks: the host counts the processes that it takes, a live namespace numbers all in turn."""

import itertools
from typing import Any

import pytest

from carryover.tasks.runtime.contract import CONTRACTS, Contract
from carryover.tasks.runtime.fork_tree import processes
from carryover.tasks.runtime.interpreter import Interpreter
from carryover.tasks.runtime.process.node import Node

RECENT = Contract(name="recent", lifetime="recent:2")
LIFETIMES = [*CONTRACTS.values(), RECENT]
ENDINGS = ["x = 1", "1 / 0", "raise SystemExit", "look()"]
PROBE = "import os\nprobe = os.fork()\nif probe == 0: os._exit(0)\nos.waitpid(probe, 0)\nprint(probe)\n"
"""Prints the number of a process that the block forks itself."""


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[Node]:
    """The processes that the host has taken below a root."""
    taken: list[Node] = []

    def noting(*arguments: Any) -> Node:
        taken.append(Node(*arguments))
        return taken[-1]

    monkeypatch.setattr(processes, "Node", noting)
    return taken


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("lifetime", LIFETIMES, ids=lambda lifetime: lifetime.name)
def test_every_step_takes_one_process(open_fork_tree, taken, lifetime, ending):
    interpreter = open_fork_tree(lifetime, {"look": lambda: "seen"})
    counts = []
    for _ in range(6):
        interpreter.run_block(ending)
        interpreter.verify_contract()  # waits for the process that was forked ahead
        counts.append(len(taken))
    assert [later - earlier for earlier, later in itertools.pairwise(counts)] == [1] * 5


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("lifetime", [*CONTRACTS.values(), RECENT], ids=lambda lifetime: lifetime.name)
def test_step_forks_one_process(open_fork_tree, lifetime, ending):
    """The probe is a fork of the block's own, so two more are tried after it."""
    interpreter = open_fork_tree(lifetime, {"look": lambda: "seen"})
    skip_without_namespace(interpreter)
    numbers = [int(interpreter.run_block(PROBE + ending).output) for _ in range(6)]
    assert [later - earlier - 1 for earlier, later in itertools.pairwise(numbers)] == [3] * 5


def skip_without_namespace(interpreter: Interpreter) -> None:
    """Skip where other programs of the machine are numbered in between."""
    if interpreter.run_block("import os; os.getppid()").result != "1":
        pytest.skip("process namespaces are unavailable")
