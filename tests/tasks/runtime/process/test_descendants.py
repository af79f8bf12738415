"""What descends from a process, as the kernel lists it."""

import os
import signal
import subprocess
from pathlib import Path

from carryover.tasks.runtime.process.descendants import children, descendants, parent


def test_children_and_theirs_are_listed():
    with subprocess.Popen(["sh", "-c", "sleep 600 & echo $!; wait"], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        grandchild = int(child.stdout.readline())
        found, parents = descendants(os.getpid()), (parent(grandchild), parent(child.pid))
        os.kill(grandchild, signal.SIGKILL)
    assert {child.pid, grandchild} <= set(found)
    assert parents == (child.pid, os.getpid())


def test_process_that_one_reading_misses_is_listed(monkeypatch):
    readings = iter(["11 13", "11 12 13"])
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: next(readings))
    assert children(Path("/proc/10/task/10")) == {11, 12, 13}
