"""Resident memory of an episode's processes."""

import os
from pathlib import Path

from tasks.runtime.fork_tree.strays import descendants

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
        return 0
    for line in text.splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return 0
