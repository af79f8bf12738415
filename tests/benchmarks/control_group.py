"""Processor time of this process and everything that it starts, dead or alive.

The sandbox does not wait for its children one by one, so their time never reaches `getrusage`; a control group has it.
"""

import contextlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

FOLDER = Path("/sys/fs/cgroup")


def can_make_control_group() -> bool:
    """Tell whether this process may enter a control group of its own."""
    try:
        with control_group():
            return True
    except OSError:
        return False


@contextmanager
def control_group() -> Iterator[Callable[[], float]]:
    """Move this process into a control group of its own for the length of the block and yield its clock, in seconds.

    Raises:
        OSError: That is not allowed here.
    """
    is_unified = (FOLDER / "cgroup.controllers").is_file()
    parent = FOLDER / _current_group() if is_unified else FOLDER / "cpuacct"
    group = parent / f"carryover-benchmark-{os.getpid()}"
    group.mkdir()
    try:
        (group / "cgroup.procs").write_text(str(os.getpid()))
        try:
            yield (lambda: _unified_seconds(group)) if is_unified else (lambda: _accounted_seconds(group))
        finally:
            (parent / "cgroup.procs").write_text(str(os.getpid()))
    finally:
        with contextlib.suppress(OSError):  # a process of the sandbox may be about to end
            group.rmdir()


def _unified_seconds(group: Path) -> float:
    return int((group / "cpu.stat").read_text().split()[1]) / 1e6


def _accounted_seconds(group: Path) -> float:
    return int((group / "cpuacct.usage").read_text()) / 1e9


def _current_group() -> str:
    lines = Path("/proc/self/cgroup").read_text().splitlines()
    return next(line.removeprefix("0::/") for line in lines if line.startswith("0::"))
