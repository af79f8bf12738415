"""Resident memory of an episode's processes."""

import os
from pathlib import Path

from tasks.runtime.process.descendants import descendants

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def resident_bytes(root_process: int) -> int:
    """Return the proportional share of memory that a process and its descendants hold, in bytes.

    Pages that several processes share are divided among them; swapped pages do not count.
    """
    return sum(_proportional_bytes(process) for process in (root_process, *descendants(root_process)))


def _proportional_bytes(process: int) -> int:
    try:
        text = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii")
    except OSError:
        return _private_bytes(process)
    for line in text.splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return 0


def _private_bytes(process: int) -> int:
    """Return what a process holds beyond files, from numbers that any user may read; 0 when it has ended."""
    try:
        _, resident, shared, *_ = Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()
    except OSError:
        return 0
    return (int(resident) - int(shared)) * _PAGE_BYTES
