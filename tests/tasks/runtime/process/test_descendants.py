"""What descends from a process, as the kernel lists it."""

import os
import subprocess

from tasks.runtime.process import descendants as module
from tasks.runtime.process.descendants import descendants, parent


def test_children_and_theirs_are_listed():
    script = (
        "import os, subprocess, sys\nchild = subprocess.Popen(['sleep', '600'])\nprint(child.pid, flush=True)\ninput()"
    )
    with subprocess.Popen(["python3", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        grandchild = int(child.stdout.readline())
        assert {child.pid, grandchild} <= set(descendants(os.getpid()))
        assert (parent(grandchild), parent(child.pid)) == (child.pid, os.getpid())
        os.kill(grandchild, 9)
        child.stdin.write("\n")


def test_process_that_one_reading_misses_is_listed(monkeypatch):
    readings = iter(["11 13", "11 12 13"])
    monkeypatch.setattr(module, "_read", lambda path: next(readings))
    assert module._children(module.Path("/proc/10/task/10")) == {11, 12, 13}
