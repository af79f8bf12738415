"""Which sandbox level the machine reaches, and one line on how to get a better one."""

import logging
import os
import sys
from typing import NamedTuple

from carryover.tasks.runtime.inside.walls.syscalls import ARCHITECTURES
from carryover.tasks.runtime.sandbox import bubblewrap
from carryover.tasks.runtime.spec import SandboxLevel

LEVELS: tuple[SandboxLevel, ...] = ("bwrap+seccomp", "landlock+seccomp", "seccomp", "none")
"""Strongest first."""

logger = logging.getLogger(__name__)


class SandboxUnavailableError(RuntimeError):
    """The machine does not reach the level that was asked for."""


class Reached(NamedTuple):
    """The level in force."""

    level: SandboxLevel
    advice: str
    """One line: the level and the way to a better one; empty at the best."""


def reach_level(wanted: SandboxLevel | None = None, *, required: SandboxLevel = "none") -> Reached:
    """Return the level to run at: the wanted one, or the best that the machine offers.

    Raises:
        SandboxUnavailableError: The machine does not offer `wanted`, or what it offers is below `required`.
    """
    obstacles = {level: _obstacle(level) for level in LEVELS}
    if wanted is not None and obstacles[wanted]:
        raise SandboxUnavailableError(f"sandbox level {wanted} is unavailable: {obstacles[wanted]}")
    level: SandboxLevel = wanted or next(level for level in LEVELS if not obstacles[level])
    better = LEVELS[: LEVELS.index(level)]
    ways = [f"{obstacles[other]} (for {other})" if obstacles[other] else f"choose {other}" for other in better]
    advice = f"sandbox level {level}; for a better one: {'; '.join(ways)}" if better else ""
    if LEVELS.index(level) > LEVELS.index(required):
        raise SandboxUnavailableError(f"{required} is required, but {advice}")
    if advice:
        logger.warning(advice)
    return Reached(level, advice)


def _obstacle(level: SandboxLevel) -> str:
    """What keeps the machine from a level, and what would help; empty when nothing does."""
    if level == "none":
        return ""
    if sys.platform != "linux":
        return "run on Linux, or in a Linux container or virtual machine"
    if os.uname().machine not in ARCHITECTURES:
        return f"run on {' or '.join(sorted(ARCHITECTURES))}, this is {os.uname().machine}"
    if level == "bwrap+seccomp":
        return bubblewrap.probe()
    if level == "landlock+seccomp":
        from carryover.tasks.runtime.inside.walls.landlock import landlock_version

        return "" if landlock_version() > 0 else "boot a kernel with Landlock (5.13 or later, lsm=landlock)"
    return ""
