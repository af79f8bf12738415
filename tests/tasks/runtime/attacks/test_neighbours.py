"""Other episodes, and the time after the end: nobody is seen, signalled, starved or altered, and nothing is left."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from carryover.tasks.runtime.contract import CONTRACTS
from carryover.tasks.runtime.process.descendants import descendants


def test_live_episodes_do_not_see_signal_or_alter_others(skip_below, open_one, runtime, contract):
    skip_below("bwrap+seccomp", runtime.sandbox_level)
    first, second = open_one("persistent", instance_id="a"), open_one(contract, instance_id="b")
    first.run_block("secret = 'mine'\nimport builtins\nbuiltins.patched = 1")
    attack = """
import os, signal
for process in range(2, 3000):
    if process != os.getpid():
        try: os.kill(process, signal.SIGKILL)
        except OSError: pass
"""
    seen = second.run_block("hasattr(__import__('builtins'), 'patched'), 'secret' in globals()")
    second.run_block(attack)  # it may end itself
    assert seen.result == "(False, False)"
    assert first.run_block("secret, patched").result == "('mine', 1)"
    assert first.run_block("1").state_event == "kept"


def test_busy_episode_does_not_starve_another(open_one, contract):
    begun, over = threading.Event(), threading.Event()

    def is_over() -> bool:
        begun.set()
        return over.is_set()

    busy = open_one(contract, {"is_over": is_over}, tool_call_cap=None)
    other = open_one(contract)
    code = """
import os, time
first = os.getpid()
for _ in range(5): os.fork()
while os.getpid() != first: pass
while not is_over():
    late = time.monotonic() + 0.5
    while time.monotonic() < late: pass
"""
    thread = threading.Thread(target=busy.run_block, args=(code,))
    thread.start()
    assert begun.wait(60)
    answered = other.run_block("sum(range(1000))").result
    was_busy = not over.is_set() and thread.is_alive()
    over.set()
    thread.join()
    assert (answered, was_busy) == ("499500", True)


def test_what_a_block_forked_runs_after_everybody_else(open_one, contract):
    interpreter = open_one(contract)
    code = """
import os, time
child = os.fork()
if child == 0:
    while True: pass
late = time.monotonic() + 15
while os.getpriority(os.PRIO_PROCESS, child) != 19 and time.monotonic() < late: time.sleep(0.05)
os.getpriority(os.PRIO_PROCESS, child)
"""
    assert interpreter.run_block(code).result == "19"


def test_what_a_block_forked_ends_with_its_interpreter(runtime):
    mark = 4713  # a limit that no other process of the machine has
    interpreter = runtime.open_interpreter(CONTRACTS["persistent"], {}, instance_id="a")
    interpreter.run_block(
        "import os, resource\nready, mark = os.pipe()\nif os.fork() == 0:\n"
        f"    resource.setrlimit(resource.RLIMIT_CPU, ({mark}, {mark})); os.write(mark, b'x')\n"
        "    while True: pass\nseen = os.read(ready, 1)"
    )
    marked = [process for process in descendants(os.getpid()) if has_processor_limit(process, mark)]
    interpreter.close()
    assert len(marked) == 1
    wait_until(lambda: not is_there(marked[0]))


WORKER = """
import json, os, time
from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.runtime.process.descendants import descendants
from carryover.tasks.runtime.contract import CONTRACTS
from carryover.tasks.runtime.runtime_spec import RuntimeSpec

def wait_until(holds):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if holds():  # asked once: what is true now may be over at once
            return True
        time.sleep(0.05)
    return False

def grown():
    return set(descendants(os.getpid())) - before

runtime = open_runtime(RuntimeSpec())
numbers, before = set(os.listdir("/proc/self/fd")), set(descendants(os.getpid()))
interpreter = runtime.open_interpreter(CONTRACTS["persistent"], {}, instance_id="a")
code = "import os, time\\nif os.fork() == 0:\\n    time.sleep(600)\\n'parent'"
told = [interpreter.run_block(code).result]
told.append(wait_until(lambda: len(grown()) >= 4))  # the root, the live process, its copy, and the block's own child
interpreter.close()
told.append(wait_until(lambda: not grown()))
told.append(wait_until(lambda: set(os.listdir("/proc/self/fd")) <= numbers))  # the watcher reads files meanwhile
runtime.close()
print(json.dumps(told))
"""


def test_nothing_of_an_episode_is_left_when_it_is_closed():
    ended = subprocess.run([sys.executable, "-c", WORKER], stdout=subprocess.PIPE, check=True)
    assert json.loads(ended.stdout) == ["'parent'", True, True, True]


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait for something that another process does, and fail when it has not come within a minute."""
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def has_processor_limit(process: int, seconds: int) -> bool:
    """Tell whether a process may use so many seconds of processor time."""
    try:
        lines = Path(f"/proc/{process}/limits").read_text(encoding="ascii").splitlines()
    except OSError:
        return False
    return any(line.split()[:4] == ["Max", "cpu", "time", str(seconds)] for line in lines)


def is_there(process: int) -> bool:
    """Tell whether a process of this machine runs or waits to be collected."""
    return Path(f"/proc/{process}").exists()
