"""Taking more than one's share: processes, memory, disk, output."""

import pytest

from tasks.runtime.open import open_runtime
from tasks.runtime.spec import RuntimeSpec


def test_fork_bomb_is_bounded_and_ends(open_impatient, contract):
    interpreter = open_impatient(contract)
    result = interpreter.run_block("import os\nwhile True:\n    try: os.fork()\n    except OSError: pass")
    assert result.error is not None
    assert interpreter.run_block("'alive'").result == "'alive'"


def test_processes_are_bounded_per_episode(skip_below, walled):
    interpreter, level = walled
    skip_below("seccomp", level)
    code = """
import os, time
made = 0
try:
    while made < 500:
        if os.fork() == 0: time.sleep(1); os._exit(0)
        made += 1
except OSError: pass
made
"""
    assert int(interpreter.run_block(code).result) <= 64


def test_memory_flood_is_an_observation(open_one, contract):
    interpreter = open_one(contract)
    assert interpreter.run_block("x = bytearray(8 << 30)").error.type == "MemoryError"
    assert interpreter.run_block("'alive'").result == "'alive'"


@pytest.mark.parametrize("backend", ["fork_tree", pytest.param("jupyter", marks=pytest.mark.kernel)])
def test_episode_that_holds_too_much_memory_is_ended(backend, contract):
    bounds = RuntimeSpec(backend=backend, warm_kernel_count=1, block_timeout_seconds=120)
    runtime = open_runtime(bounds.model_copy(update={"episode_memory_limit_bytes": 200 << 20}))
    interpreter = runtime.open_interpreter(contract, {}, instance_id="a")
    result = interpreter.run_block("import time\nx = bytearray(b'1') * (300 << 20)\ntime.sleep(60)")
    alive = interpreter.run_block("'alive'").result
    interpreter.close()
    runtime.close()
    assert result.error is not None
    assert (result.error.type, alive) == ("MemoryLimitExceeded", "'alive'")


def test_endless_output_is_bounded(open_impatient, contract):
    interpreter = open_impatient(contract)
    result = interpreter.run_block("while True: print('x' * 1000)")
    assert result.error is not None
    assert 0 < len(result.output) <= 1 << 20
    assert interpreter.run_block("print('next')").output == "next\n"


def test_flood_through_descriptors_is_bounded(interpreter):
    result = interpreter.run_block("import os\nos.lseek(1, 1 << 40, 0)\nos.write(1, b'x')")
    assert result.error is not None
    assert interpreter.run_block("print('next')").output == "next\n"
