"""Limits that an episode's own copies meet: processes, descriptors, shared memory."""

import gc
import time
from pathlib import Path

import pytest

from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from tests.tasks.runtime.opened import opener


def test_snapshots_beyond_the_process_limit_are_refused_with_the_state_intact():
    runtime = open_runtime(RuntimeSpec(process_limit=16))
    opened = opener(runtime)
    interpreter = next(opened)("persistent")
    interpreter.run_block("x = 0")
    taken = []

    def take_many() -> None:
        for _ in range(20):
            taken.append(interpreter.snapshot())
            interpreter.run_block("x += 1")

    with pytest.raises(ValueError, match="process_limit is 16; close snapshots"):
        take_many()
    assert len(taken) >= 8
    with pytest.raises(ValueError, match="process_limit"):
        interpreter.branch()
    assert interpreter.run_block("x").result == str(len(taken))
    taken[0].close()
    assert interpreter.restore(taken[1]) == ()
    assert interpreter.run_block("x").result == "1"
    next(opened, None)
    runtime.close()


def descriptors() -> set[str]:
    """Return what stays open: the thread that watches memory opens files for an instant."""
    gc.collect()
    looks = [{path.name for path in Path("/proc/self/fd").iterdir()} for _ in range(20)]
    return set.intersection(*looks)


def fewest_descriptors(wanted: int) -> int:
    """Return how many stay open when ended processes are let go, which their threads do in their own time."""
    deadline = time.monotonic() + 30
    while (count := len(descriptors())) > wanted and time.monotonic() < deadline:
        time.sleep(0.05)
    return count


def test_dropped_interpreters_and_branches_leave_no_descriptors(fork_tree, contract):
    interpreter = fork_tree.open_interpreter(contract, {}, instance_id="a")
    interpreter.run_block("x = 1")
    interpreter.verify_contract()  # the copy that is under way has come
    before = descriptors()
    other = None
    for _ in range(5):
        other = fork_tree.open_interpreter(contract, {}, instance_id="a")
        other.run_block("x = 1")
        interpreter.branch().run_block("y = 1")
    del other
    interpreter.verify_contract()
    assert fewest_descriptors(len(before)) <= len(before)
    interpreter.close()


@pytest.mark.parametrize(
    "code",
    [
        "import mmap\nheld = mmap.mmap(-1, 400 << 20)\nheld[:] = bytes(400 << 20)\nimport time\ntime.sleep(60)",
        "import mmap, os, time\nif os.fork() == 0:\n    held = mmap.mmap(-1, 400 << 20)\n"
        "    for at in range(0, 400 << 20, 4096): held[at] = 1\n    time.sleep(60)\ntime.sleep(60)",
    ],
)
def test_shared_memory_counts_as_the_episodes(open_with, contract, code):
    interpreter = open_with(contract, episode_memory_limit_bytes=300 << 20, block_timeout_seconds=50)
    result = interpreter.run_block(code)
    assert result.error.type == "MemoryLimitExceeded"
    assert interpreter.run_block("1").result == "1"
