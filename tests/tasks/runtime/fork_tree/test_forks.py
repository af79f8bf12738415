"""How often the fork tree forks: the host counts the processes that it takes, a live namespace numbers all in turn."""

import itertools
from collections.abc import Iterator

import pytest

from carryover.tasks.runtime.contract import CONTRACTS, Contract
from carryover.tasks.runtime.fork_tree.runtime import ForkTreeRuntime
from carryover.tasks.runtime.interpreter import Interpreter
from carryover.tasks.runtime.process.node import Node
from carryover.tasks.runtime.spec import RuntimeSpec

RECENT = Contract(name="recent", lifetime="recent:2")
LIFETIMES = [*CONTRACTS.values(), RECENT]
ENDINGS = ["x = 1", "1 / 0", "raise SystemExit", "look()"]
PROBE = "import os\nprobe = os.fork()\nif probe == 0: os._exit(0)\nos.waitpid(probe, 0)\nprint(probe)\n"
"""Prints the number of a process that the block forks itself."""


class CountedFamily(set[Node]):
    """The processes of an episode that the host knows of, with how many it ever took in."""

    taken_count = 0

    def add(self, element: Node) -> None:
        self.taken_count += 1
        super().add(element)


class CountingRuntime(ForkTreeRuntime):
    """A fork tree that counts."""

    family = CountedFamily()

    def _open_root(self, tools: dict[str, str], output: int) -> Node:
        root = super()._open_root(tools, output)
        self.family = CountedFamily()
        return Node(root.channel, root.handle, self.family)


@pytest.fixture(scope="module")
def counting() -> Iterator[CountingRuntime]:
    runtime = CountingRuntime(RuntimeSpec())
    yield runtime
    runtime.close()


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("lifetime", LIFETIMES, ids=lambda lifetime: lifetime.name)
def test_every_step_takes_one_process(counting, lifetime, ending):
    interpreter = counting.open_interpreter(lifetime, {"look": lambda: "seen"}, instance_id="a")
    counts = []
    for _ in range(6):
        interpreter.run_block(ending)
        interpreter.verify_contract()  # waits for the process that was forked ahead
        counts.append(counting.family.taken_count)
    interpreter.close()
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
