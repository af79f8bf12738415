"""How programs that a probe has started end."""

import subprocess
import sys

import pytest

from carryover.tasks.probe.connectors import ending
from carryover.tasks.probe.connectors.ending import end_piped


def started(program):
    command = [sys.executable, "-c", f"print('begun', flush=True)\n{program}"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
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
    monkeypatch.setattr(ending, "END_SECONDS", 0.1)
    process = started("import time\ntime.sleep(600)")
    end_piped(process)
    assert process.returncode == -9
