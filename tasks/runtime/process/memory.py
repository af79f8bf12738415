"""Resident memory of an episode's processes."""

import os
import time
from pathlib import Path

from carryover.tasks.runtime.process.descendants import descendants

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_PAUSE_SECONDS, _LOOKING_SHARE = 0.1, 0.05
"""Between two looks while a block runs: so long, and as much longer as keeps looking at this share of the time."""


class Holdings:
    """What the processes of an episode hold, and when to look next while a block runs."""

    __slots__ = ("due",)

    def __init__(self) -> None:
        self.due = time.monotonic() + _PAUSE_SECONDS

    def excess_bytes(self, root_process: int, limit_bytes: int) -> int:
        """Return what a process and its descendants hold, in bytes, where that is more than a limit; 0 where it is not.

        Sharing is asked for only where the processes could exceed the limit without it: the kernel then walks all
        pages.
        """
        began = time.monotonic()
        processes = (root_process, *descendants(root_process))
        used = sum(map(private_bytes, processes))
        if used > limit_bytes:
            used = sum(map(_proportional_bytes, processes))
        now = time.monotonic()
        self.due = now + max(_PAUSE_SECONDS, (now - began) / _LOOKING_SHARE)
        return used if used > limit_bytes else 0


def _proportional_bytes(process: int) -> int:
    """Return what a process holds of memory, where pages that several share are divided among them."""
    try:
        text = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii")
    except OSError:
        return private_bytes(process)
    for line in text.splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return 0


def private_bytes(process: int) -> int:
    """Return what a process holds beyond files, from numbers that any user may read; 0 when it has ended."""
    try:
        with open(f"/proc/{process}/statm", encoding="ascii") as numbers:  # noqa: PTH123 - hot path
            _, resident, shared, *_ = numbers.read().split()
    except OSError:
        return 0
    return (int(resident) - int(shared)) * _PAGE_BYTES
