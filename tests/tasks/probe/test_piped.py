"""How programs that a probe has started end."""

import os
import select
import signal
import sys

import pytest

from carryover.tasks.probe.connectors import piped
from carryover.tasks.probe.connectors.piped import end_piped, start_piped


def started(program):
    process = start_piped([sys.executable, "-c", f"print('begun', flush=True)\n{program}"])
    assert process.stdout is not None
    assert process.stdout.readline() == b"begun\n"
    return process


def test_a_program_ends_with_its_input():
    process = started("import sys\nsys.stdin.read()\nsys.exit(7)")
    end_piped(process)
    assert process.returncode == 7
    assert process.stdout is not None
    assert process.stdout.closed


def test_a_program_that_has_ended_is_collected():
    process = started("import sys\nsys.exit(7)")
    end_piped(process)
    assert process.returncode == 7


@pytest.mark.timeout(60)
def test_a_program_that_ignores_its_inputs_end_is_killed(monkeypatch):
    monkeypatch.setattr(piped, "END_SECONDS", 0.1)
    process = started("import time\ntime.sleep(600)")
    end_piped(process)
    assert process.returncode == -9


@pytest.fixture
def launched(tmp_path):
    """Start a launcher and its child, and return both: the process, and a pipe that ends with the child."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    child = f"import time\nheld = open({str(pipe)!r}, 'w')\ntime.sleep(60)"
    opened = []

    def launch(program):
        process = started(
            f"import subprocess, sys, time\nsubprocess.Popen([sys.executable, '-c', {child!r}])\n{program}"
        )
        opened.append(pipe.open("rb"))
        return process, opened[-1]

    yield launch
    for reader in opened:
        reader.close()


def has_ended(reader, seconds):
    return select.select([reader], [], [], seconds)[0] != []


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("program", "seconds", "spares_children"),
    [("sys.stdin.read()", 30, False), ("time.sleep(600)", 0.1, False), ("time.sleep(600)", 0.1, True)],
)
def test_a_launchers_child_ends_with_it(launched, monkeypatch, program, seconds, spares_children):
    monkeypatch.setattr(piped, "END_SECONDS", seconds)
    process, reader = launched(program)
    end_piped(process, spares_children=spares_children)
    assert has_ended(reader, 10)


@pytest.mark.timeout(60)
def test_a_spared_child_outlives_a_program_that_ends_by_itself(launched):
    process, reader = launched("sys.stdin.read()")
    end_piped(process, spares_children=True)
    assert process.returncode == 0
    assert not has_ended(reader, 0)
    os.killpg(process.pid, signal.SIGKILL)
    assert has_ended(reader, 10)
