"""Resident memory of an episode's processes."""

import os
from pathlib import Path

from carryover.tasks.runtime.process.descendants import descendants

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def excess_bytes(root_process: int, limit_bytes: int) -> int:
    """Return what a process and its descendants hold, in bytes, where that is more than a limit; 0 where it is not.

    Sharing is asked for only where the processes could exceed the limit without it: the kernel then walks all pages.
    """
    if sum(private_bytes(process) for process in (root_process, *descendants(root_process))) <= limit_bytes:
        return 0
    used = resident_bytes(root_process)
    return used if used > limit_bytes else 0


def resident_bytes(root_process: int) -> int:
    """Return the proportional share of memory that a process and its descendants hold, in bytes.

    Pages that several processes share are divided among them; swapped pages do not count.
    """
    return sum(_proportional_bytes(process) for process in (root_process, *descendants(root_process)))


def _proportional_bytes(process: int) -> int:
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
