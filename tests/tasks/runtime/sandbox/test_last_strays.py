"""What the last block of an episode forked, at every sandbox level: it ends with the episode."""

import time

import pytest

from tasks.runtime.fork_tree.runtime import ForkTreeRuntime
from tasks.runtime.process.descendants import descendants
from tasks.runtime.sandbox.level import LEVELS, SandboxUnavailableError
from tasks.runtime.spec import RuntimeSpec

FORKS = "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(600)\n    os._exit(0)"


@pytest.mark.parametrize("level", LEVELS)
def test_process_that_the_last_block_forked_ends_with_its_episode(level, contract):
    try:
        runtime = ForkTreeRuntime(RuntimeSpec(sandbox=level))
    except SandboxUnavailableError as refusal:
        pytest.skip(str(refusal))
    sandbox = runtime._zygote.process.pid
    before = set(descendants(sandbox))
    interpreter = runtime.open_interpreter(contract, {}, instance_id="a")
    error = interpreter.run_block(FORKS).error
    grown = set(descendants(sandbox)) - before
    interpreter.close()
    deadline = time.monotonic() + 60
    while set(descendants(sandbox)) - before and time.monotonic() < deadline:
        time.sleep(0.05)
    left = set(descendants(sandbox)) - before
    runtime.close()
    assert (error, left) == (None, set())
    assert grown
