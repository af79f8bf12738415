"""How often the fork tree forks: the host counts the processes that it takes, a live namespace numbers all in turn."""

import itertools
import os
from collections.abc import Iterator

import pytest

from carryover.tasks.runtime.fork_tree.runtime import LAST_NUMBER_FILE, ForkTreeRuntime
from carryover.tasks.runtime.process.node import Node
from carryover.tasks.runtime.protocol import CONTRACTS, Contract, Interpreter
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
@pytest.mark.parametrize("lifetime", [CONTRACTS["persistent"], RECENT], ids=lambda lifetime: lifetime.name)
def test_nothing_else_is_forked_where_numbers_go_on(open_fork_tree, lifetime, ending):
    interpreter = open_fork_tree(lifetime, {"look": lambda: "seen"})
    skip_without_namespace(interpreter)
    numbers = [int(interpreter.run_block(PROBE + ending).output) for _ in range(6)]
    assert [later - earlier - 1 for earlier, later in itertools.pairwise(numbers)] == [1] * 5


@pytest.mark.parametrize("ending", ENDINGS)
def test_nothing_else_is_forked_where_numbers_begin_anew(open_fork_tree, ending):
    interpreter = open_fork_tree("stateless", {"look": lambda: "seen"})
    skip_without_namespace(interpreter)
    if not os.access(LAST_NUMBER_FILE, os.W_OK):
        pytest.skip(f"{LAST_NUMBER_FILE} is read-only here")
    code = f"{PROBE}print(os.getpid())\n{ending}"
    outputs = (interpreter.run_block(code).output for _ in range(50))
    assert "3\n2\n" in outputs  # Linux may give a number free a moment after its process was waited for


def skip_without_namespace(interpreter: Interpreter) -> None:
    """Skip where other programs of the machine are numbered in between."""
    if interpreter.run_block("import os; os.getppid()").result != "1":
        pytest.skip("no namespace of processes is to be had here")
