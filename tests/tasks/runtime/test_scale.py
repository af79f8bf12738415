"""Many live episodes on a small machine, and nothing left of them."""

import os
import resource
import tempfile
import time
from pathlib import Path

import pytest

from tasks.runtime.open import open_runtime
from tasks.runtime.protocol import CONTRACTS
from tasks.runtime.spec import RuntimeSpec

EPISODE_COUNT = 1000
DESCRIPTORS_PER_EPISODE = 8


def names(folder: str) -> set[str]:
    return {entry.name for entry in os.scandir(folder)}


def processes() -> set[int]:
    return {int(name) for name in names("/proc") if name.isdigit()}


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_thousand_live_episodes_leave_nothing_behind(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = EPISODE_COUNT * DESCRIPTORS_PER_EPISODE + 200
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, needed), hard), hard))
    descriptors = names("/proc/self/fd")
    earlier = descendants(os.getpid())  # runtimes that other tests of the session keep
    runtime = open_runtime(RuntimeSpec())
    opened = []
    for number in range(EPISODE_COUNT):
        contract = CONTRACTS["persistent" if number % 2 else "stateless"]
        opened.append(runtime.open_interpreter(contract, {}, instance_id=str(number)))
        assert opened[-1].run_block(f"x = {number}").error is None
    grown = descendants(os.getpid()) - earlier
    for number, interpreter in enumerate(opened):
        seen = interpreter.run_block("'x' in globals() and x").result
        assert seen == (str(number) if number % 2 else "False")
    for interpreter in opened:
        interpreter.close()
    runtime.close()
    deadline = time.monotonic() + 30
    while grown & processes() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert len(grown) > 2 * EPISODE_COUNT
    assert grown & processes() == set()
    assert names("/proc/self/fd") <= descriptors
    assert names(str(tmp_path)) == set()


def descendants(process: int) -> set[int]:
    """Return the processes under one, by the parents that the kernel lists."""
    children: dict[int, list[int]] = {}
    for name in names("/proc"):
        if name.isdigit():
            try:
                text = Path(f"/proc/{name}/stat").read_text(encoding="utf-8")
            except OSError:
                continue
            children.setdefault(int(text.rpartition(")")[2].split()[1]), []).append(int(name))
    found: set[int] = set()
    waiting = [process]
    while waiting:
        for child in children.get(waiting.pop(), []):
            found.add(child)
            waiting.append(child)
    return found
