"""A thousand live episodes in a process of their own: every process and descriptor that is left is theirs."""

import contextlib
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

from carryover.tasks.runtime.contract import CONTRACTS
from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.runtime.runtime_spec import RuntimeSpec

EPISODE_COUNT = 1000
DESCRIPTORS_PER_EPISODE = 8


def live(folder: str) -> None:
    """Open every episode, half of them under each contract, use each twice, close all: nothing may be left."""
    tempfile.tempdir = folder
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = EPISODE_COUNT * DESCRIPTORS_PER_EPISODE + 200
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, needed), hard), hard))
    descriptors = names("/proc/self/fd")
    runtime = open_runtime(RuntimeSpec())
    opened = []
    for number in range(EPISODE_COUNT):
        contract = CONTRACTS["persistent" if number % 2 else "stateless"]
        opened.append(runtime.open_interpreter(contract, {}, instance_id=str(number)))
        assert opened[-1].run_block(f"x = {number}").error is None
    grown = descendants(os.getpid())
    sockets = own_sockets()
    assert any(sockets <= sockets_of_the_machine() for _ in range(5))  # a list may miss one while others come and go
    for number, interpreter in enumerate(opened):
        seen = interpreter.run_block("'x' in globals() and x").result
        assert seen == (str(number) if number % 2 else "False")
    for interpreter in opened:
        interpreter.close()
    runtime.close()
    deadline = time.monotonic() + 60
    while (grown & processes() or names("/proc/self/fd") - descriptors) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert len(grown) > 2 * EPISODE_COUNT
    assert grown & processes() == set()
    assert names("/proc/self/fd") <= descriptors
    assert len(sockets) >= EPISODE_COUNT
    assert sockets & sockets_of_the_machine() == set()
    assert names(folder) == set()


def names(folder: str) -> set[str]:
    """Return the names in a folder."""
    return {entry.name for entry in os.scandir(folder)}


def own_sockets() -> set[str]:
    """Return the sockets that this process holds, by the numbers that the kernel gives them."""
    links = set()
    for name in names("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # closed since it was listed
            links.add(str(Path("/proc/self/fd", name).readlink()))
    return {link.removeprefix("socket:[").removesuffix("]") for link in links if link.startswith("socket:[")}


def sockets_of_the_machine() -> set[str]:
    """Return the numbers of all Unix sockets, whoever holds them."""
    return {line.split()[6] for line in Path("/proc/net/unix").read_text(encoding="utf-8").splitlines()[1:]}


def processes() -> set[int]:
    """Return the processes that the machine runs now."""
    return {int(name) for name in names("/proc") if name.isdigit()}


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


if __name__ == "__main__":
    live(sys.argv[1])
