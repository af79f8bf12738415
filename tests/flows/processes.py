"""The processes that a test has started: which of them live, and their command lines."""

import os
from contextlib import suppress
from pathlib import Path

from carryover.tasks.runtime.process.descendants import descendants


def alive(before: set[int]) -> set[int]:
    """Return the processes under this one that are neither old nor dead, and forget the dead."""
    living = set()
    for process in set(descendants(os.getpid())) - before:
        if command_line(process):
            living.add(process)
        else:
            with suppress(ChildProcessError):
                os.waitpid(process, os.WNOHANG)
    return living


def command_line(process: int) -> str:
    """Return a process's command line, nothing when it has ended."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
    except OSError:
        return ""
