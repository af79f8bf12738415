"""Were a channel open, its probe would see it: shown in plain Python of what no contract's interpreter keeps."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.tasks.runtime.channels import CHANNELS, FILES, HELPERS, PAGES, processors

OPEN_INTERPRETER = """
import sys
namespace = {}
for code in sys.argv[1:3]: exec(code, namespace)
print(eval(sys.argv[3], namespace), file=sys.stderr)
"""
"""Runs both blocks in one namespace, and puts nothing back in between."""
OPEN_TREE = """
import os, sys
def run(code):
    process = os.fork()
    if process == 0:
        exec(sys.argv[1] + "\\ndef _others(): return [os.getppid()]\\n" + code, {})
        os._exit(0)
    os.waitpid(process, 0)
run(sys.argv[2])
run("import sys; print(" + sys.argv[3] + ", file=sys.stderr, flush=True)")
"""
"""Runs each block in a fork of one process, and keeps no block from that process; it has no others to try."""
OPEN_SHELL = """
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell()
shell.run_cell(sys.argv[2], store_history=True)
print(eval(sys.argv[3], shell.user_ns), file=sys.stderr)
"""
"""IPython itself, which remembers what each cell came to."""

OPEN = {
    "random state": OPEN_INTERPRETER,
    "numpy random state": OPEN_INTERPRETER,
    "canary of the runtime": OPEN_INTERPRETER,
    "own output": OPEN_INTERPRETER,
    "output history": OPEN_SHELL,
    "limits of another process": OPEN_TREE,
    "priority of another process": OPEN_TREE,
    "priority of the process group": OPEN_TREE,
    "scheduling of another process": OPEN_TREE,
}
SHOWN_BELOW = {"temporary file", "page cache"}


def sees(program: str, write: str, probe: str, folder) -> bool:
    """Tell what a probe finds where nothing is closed; the program's output goes to a file, as that of blocks does."""
    words = [sys.executable, "-u", "-c", program, HELPERS + processors(), write, probe]
    with (folder / "output").open("w+b") as output:
        ended = subprocess.run(
            words,
            stdout=output,
            stderr=subprocess.PIPE,
            text=True,
            check=True,
            start_new_session=True,
            env={**os.environ, "IPYTHONDIR": str(folder)},
        )
    told = ended.stderr.splitlines()[-1]
    assert told in ("True", "False"), ended.stderr
    return told == "True"


@pytest.mark.parametrize("name", OPEN)
def test_probe_sees_a_channel_where_it_is_open(tmp_path, name):
    assert sees(OPEN[name], CHANNELS[name].write, CHANNELS[name].probe, tmp_path)


@pytest.mark.parametrize("name", sorted(OPEN.keys() - {"output history"}))  # IPython's is there from the first cell on
def test_probe_sees_nothing_that_was_not_written(tmp_path, name):
    assert not sees(OPEN[name], "pass", CHANNELS[name].probe, tmp_path)


def test_every_closed_channel_has_a_control():
    closed = {name for name, channel in CHANNELS.items() if not channel.is_open_to_persistent}
    assert closed == OPEN.keys() | SHOWN_BELOW


def test_probe_sees_a_file_that_was_left(tmp_path):
    scope: dict[str, Any] = {}
    exec(FILES, scope)
    assert not scope["_are_files_left"]([tmp_path])
    scope["_leave_files"]([tmp_path])
    assert len(list(tmp_path.iterdir())) == 5
    assert scope["_are_files_left"]([tmp_path])
    for left in tmp_path.iterdir():
        assert left.name.startswith("kept")


ATTEMPTS = 300
"""A machine that is short of memory takes a page back at any time, one that is busy keeps it for a while."""


def holds_once(look: Callable[[], bool]) -> bool:
    """Tell whether something holds in one of many attempts, between which the kernel has time."""
    for _ in range(ATTEMPTS):
        if look():
            return True
        time.sleep(0.01)
    return False


def test_probe_sees_a_page_that_was_evicted(tmp_path):
    scope: dict[str, Any] = {}
    exec(PAGES, scope)
    path = tmp_path / "page"
    with path.open("wb") as written:
        written.write(b"x" * 4096)
        written.flush()
        os.fsync(written.fileno())

    def is_cached() -> bool:
        path.read_bytes()
        return not scope["_is_page_evicted"](path)

    def is_evicted() -> bool:
        scope["_evict_page"](path)
        return scope["_is_page_evicted"](path)

    if not holds_once(is_evicted):
        pytest.skip("the file system here keeps its pages, or tells nothing of them")
    assert holds_once(is_cached)
