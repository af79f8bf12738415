"""Resident memory of an episode's processes."""

import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from carryover.tasks.runtime.process.descendants import descendants

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_PAUSE_SECONDS = 0.1
_LOOKING_SHARE = 0.05
"""Between two looks: at least so long, and as much longer as keeps looking at this share of the time."""
_LOOKED_AT_AGAIN = 32
"""Processes without a sign of having run that are looked at again each time."""


_LIBRARIES_BYTES = 64 << 20
"""Pages of files and shared memory together, below which no process is asked for the latter."""


class _Signs(NamedTuple):
    """Counters that change when a process runs."""

    started: str
    ticks: int
    private_bytes: int
    """Shared memory included, as if it were its own."""


class Holdings:
    """Memory of an episode's processes, by a few looks.

    A look at a thousand branches asks the kernel about a few of them.
    """

    __slots__ = ("_known", "due")

    def __init__(self) -> None:
        self.due = time.monotonic() + _PAUSE_SECONDS
        """When to look next at the earliest."""
        self._known: dict[int, tuple[_Signs, int]] = {}
        """Proportional bytes by process; who was looked at last comes last."""

    def excess_bytes(self, root_process: int, limit_bytes: int) -> int:
        """Return a process tree's bytes if above a limit, else 0.

        Sharing is asked for only where the processes could exceed the limit without it: the kernel then walks all
        pages. Who has run is asked again, of the others a few in turn; those that were never asked count as much as
        they do on average. A limit is never exceeded by an estimate: all are asked before.
        """
        began = time.monotonic()
        signs = {process: _signs(process) for process in (root_process, *descendants(root_process))}
        used = 0
        if sum(each.private_bytes for each in signs.values()) > limit_bytes:
            used = self._estimate(signs)
            if used > limit_bytes:
                self._ask(signs, signs)
                used = sum(held for _, held in self._known.values())
        now = time.monotonic()
        self.due = now + max(_PAUSE_SECONDS, (now - began) / _LOOKING_SHARE)
        if used > limit_bytes:
            return used
        return 0

    def _estimate(self, signs: dict[int, _Signs]) -> int:
        same = [process for process, (former, _) in self._known.items() if signs.get(process) == former]
        new = signs.keys() - same
        ran = {process for process in new if process in self._known or signs[process].ticks}
        idle = [*(new - ran), *same]
        self._known = {process: self._known[process] for process in same}
        self._ask(signs, [*ran, *idle[:_LOOKED_AT_AGAIN]])
        known_idle = [self._known[process][1] for process in idle if process in self._known]
        used = sum(held for _, held in self._known.values())
        return used + sum(known_idle) * (len(signs) - len(self._known)) // max(1, len(known_idle))

    def _ask(self, signs: dict[int, _Signs], processes: Iterable[int]) -> None:
        for process in processes:
            self._known.pop(process, None)
            self._known[process] = signs[process], _proportional_bytes(process)


def _signs(process: int) -> _Signs:
    try:
        with open(f"/proc/{process}/stat", encoding="ascii") as line:  # noqa: PTH123 - hot path
            fields = line.read().rpartition(")")[2].split()
    except OSError:
        return _Signs("", 0, 0)
    held = private_bytes(process) + _shared_bytes(process)
    return _Signs(fields[19], int(fields[11]) + int(fields[12]), held)


def _shared_bytes(process: int) -> int:
    """Return a process's mapped shared memory, files aside.

    It is 0 where it is too little to matter.
    """
    try:
        with open(f"/proc/{process}/statm", encoding="ascii") as numbers:  # noqa: PTH123 - hot path
            shared = int(numbers.read().split()[2]) * _PAGE_BYTES
        if shared < _LIBRARIES_BYTES:
            return 0
        text = Path(f"/proc/{process}/status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("RssShmem:")), 0)


def _proportional_bytes(process: int) -> int:
    """Return a process's memory, with shared pages divided among their holders."""
    try:
        text = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii")
    except OSError:
        return private_bytes(process)
    return next((int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("Pss:")), 0)


def private_bytes(process: int) -> int:
    """Return a process's bytes beyond files; 0 when ended.

    Any user may read these numbers.
    """
    try:
        with open(f"/proc/{process}/statm", encoding="ascii") as numbers:  # noqa: PTH123 - hot path
            _, resident, shared, *_ = numbers.read().split()
    except OSError:
        return 0
    return (int(resident) - int(shared)) * _PAGE_BYTES


def shared_mappings(process: int) -> list[tuple[int, int]]:
    """Return each writable mapping that forks share, with its size.

    None for a process that has ended.
    """
    found = []
    try:
        with open(f"/proc/{process}/maps", encoding="utf-8", errors="replace") as lines:  # noqa: PTH123 - hot path
            for line in lines:
                place, rights, *_ = line.split(maxsplit=2)
                if rights.startswith("rw") and rights.endswith("s"):
                    start, _, end = place.partition("-")
                    found.append((int(start, 16), int(end, 16) - int(start, 16)))
    except OSError:
        return []
    return found
