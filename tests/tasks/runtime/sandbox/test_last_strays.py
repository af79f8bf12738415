"""What the last block of an episode forked, at every sandbox level: it ends with the episode."""

import os
import select

import pytest

from carryover.tasks.runtime.fork_tree import runtime as module
from carryover.tasks.runtime.fork_tree.fork_engine import Root
from carryover.tasks.runtime.fork_tree.runtime import ForkTreeRuntime
from carryover.tasks.runtime.process.descendants import descendants
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.runtime.sandbox.level import LEVELS, SandboxUnavailableError

FORKS = """
import os, time
told, tell = os.pipe()
if os.fork() == 0:
    try: os.setsid()
    except OSError: pass
    os.write(tell, b"asleep")
    while True: time.sleep(600)
os.read(told, 6)
look()
"""


@pytest.mark.parametrize("level", LEVELS)
def test_process_that_the_last_block_forked_ends_with_its_episode(level, contract, monkeypatch):
    try:
        runtime = ForkTreeRuntime(RuntimeSpec(sandbox=level))
    except SandboxUnavailableError as refusal:
        pytest.skip(str(refusal))
    handles, roots = [], []
    monkeypatch.setattr(module, "Root", lambda node, remove: roots.append(node) or Root(node, remove))

    def look() -> None:
        """Open a handle of each process that the block has forked, while it runs."""
        (root,) = roots
        known = {node.process_id() for node in root.family}
        handles.extend(os.pidfd_open(process) for process in descendants(root.process_id()) if process not in known)

    interpreter = runtime.open_interpreter(contract, {"look": look}, instance_id="a")
    error = interpreter.run_block(FORKS).error
    interpreter.close()
    ended = [bool(select.select([handle], [], [], 60)[0]) for handle in handles]
    for handle in handles:
        os.close(handle)
    runtime.close()
    assert (error, ended) == (None, [True])
