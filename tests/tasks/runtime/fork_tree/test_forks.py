"""How often the fork tree forks: an episode's namespace numbers its processes in turn, so the numbers count forks."""

import itertools

import pytest

from tasks.runtime.protocol import CONTRACTS, Contract, Interpreter

LIFETIMES = [*CONTRACTS.values(), Contract(name="recent", lifetime="recent:2")]
PROBE = "import os\nprobe = os.fork()\nif probe == 0: os._exit(0)\nos.waitpid(probe, 0)\nprint(probe)\n"
"""Prints the number of a process that the block forks itself."""


@pytest.mark.parametrize("ending", ["x = 1", "1 / 0", "raise SystemExit", "look()"])
@pytest.mark.parametrize("lifetime", LIFETIMES, ids=lambda lifetime: lifetime.name)
def test_every_step_costs_one_fork(open_fork_tree, lifetime, ending):
    interpreter = open_fork_tree(lifetime, {"look": lambda: "seen"})
    if interpreter.run_block("import os; os.getppid()").result != "1":
        pytest.skip("no namespace of processes is to be had here, so other programs get numbers in between")
    assert forks_per_step(interpreter, PROBE + ending) == [1] * 5


def forks_per_step(interpreter: Interpreter, code: str) -> list[int]:
    """Return how many processes the runtime made between each step's own one and the next step's."""
    numbers = [int(interpreter.run_block(code).output) for _ in range(6)]
    return [later - earlier - 1 for earlier, later in itertools.pairwise(numbers)]
