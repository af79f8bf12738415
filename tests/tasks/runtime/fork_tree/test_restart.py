"""A zygote that is killed is replaced: live episodes go on as after any death of a process, new ones open."""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest

from carryover.tasks.runtime.contract import CONTRACTS
from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.runtime.process.descendants import descendants
from carryover.tasks.runtime.runtime_spec import RuntimeSpec


@pytest.mark.parametrize("contract", ["persistent", "stateless"])
def test_a_killed_zygote_is_replaced(contract):
    before = set(descendants(os.getpid()))
    runtime = open_runtime(RuntimeSpec())
    zygote = set(descendants(os.getpid())) - before
    live = runtime.open_interpreter(CONTRACTS[contract], {}, instance_id="live")
    assert live.run_block("x = 1").error is None
    sandbox = set(descendants(os.getpid())) - before
    for process in zygote:
        with suppress(ProcessLookupError):  # it has ended with its parent
            os.kill(process, signal.SIGKILL)
    deadline = time.monotonic() + 60
    while not all(map(has_ended, sandbox)) and time.monotonic() < deadline:  # the kernel ends them one after the other
        time.sleep(0.01)
    results = [live.run_block("x = 2\nx") for _ in range(2)]
    assert results[-1].result == "2"  # the first one may be told that the interpreter died
    for instance in ("a", "b"):
        interpreter = runtime.open_interpreter(CONTRACTS[contract], {}, instance_id=instance)
        assert interpreter.run_block("1 + 1").result == "2"
        interpreter.close()
    live.close()
    runtime.close()
    assert set(descendants(os.getpid())) <= before


def has_ended(process: int) -> bool:
    """Return whether a process is gone, or waits for its parent to notice that it has ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(") ")[2].startswith("Z")
    except OSError:
        return True
