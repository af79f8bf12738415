"""What an episode holds: asked of the few that have run, and exact before anything is ended for it."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from carryover.tasks.runtime.process.memory import Holdings

MIB = 1 << 20
COUNT = 100
FORKS = f"""
import os, signal, sys
held = bytearray(64 << 20)
for place in range(0, len(held), 4096): held[place] = 1
for number in range({COUNT}):
    if not os.fork():
        signal.pause()
print("forked", flush=True)
sys.stdin.readline()
for place in range(0, len(held), 4096): held[place] = 2
print("written", flush=True)
signal.pause()
"""


class Asking(Holdings):
    """Notes how many processes the kernel is asked about."""

    counts: list[int]

    def _ask(self, signs, processes):
        self.counts.append(len([*processes]))
        super()._ask(signs, processes)


@pytest.fixture
def parent() -> Iterator[subprocess.Popen]:
    """A process of 64 MiB and a hundred forks of it that have not run yet."""
    command = [sys.executable, "-c", FORKS]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "forked\n"
    yield process
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()


def write_again(parent: subprocess.Popen) -> None:
    """Let the parent write to all that it shares with its forks."""
    assert parent.stdin is not None
    assert parent.stdout is not None
    parent.stdin.write("\n")
    parent.stdin.close()
    assert parent.stdout.readline() == "written\n"


def test_look_at_many_forks_asks_the_kernel_about_a_few(parent):
    holdings = Asking()
    holdings.counts = []
    for _ in range(3):
        assert holdings.excess_bytes(parent.pid, 1024 * MIB) == 0
    assert max(holdings.counts) < COUNT / 2


def test_what_exceeds_the_limit_is_found_and_told_exactly(parent):
    holdings = Holdings()
    assert holdings.excess_bytes(parent.pid, 512 * MIB) == 0
    assert holdings.excess_bytes(parent.pid, 32 * MIB) == pytest.approx(Holdings().excess_bytes(parent.pid, 0), rel=0.1)


def test_memory_that_a_process_stops_sharing_is_counted(parent):
    holdings = Holdings()
    before = Holdings().excess_bytes(parent.pid, 0)
    assert holdings.excess_bytes(parent.pid, before + 32 * MIB) == 0
    write_again(parent)
    assert holdings.excess_bytes(parent.pid, before + 32 * MIB) > before + 32 * MIB
