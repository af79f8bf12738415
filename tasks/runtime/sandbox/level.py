"""The machine's sandbox level, and the way to a better one."""

import logging
import os
import sys
from collections.abc import Mapping, Sequence
from typing import get_args

from carryover.tasks.runtime.inside.walls.confine import landlock_version
from carryover.tasks.runtime.inside.walls.syscalls import ARCHITECTURES
from carryover.tasks.runtime.runtime_spec import SandboxLevel
from carryover.tasks.runtime.sandbox import bubblewrap
from carryover.tasks.services.errors import UserError

LEVELS: tuple[SandboxLevel, ...] = get_args(SandboxLevel)
"""Strongest first."""

logger = logging.getLogger(__name__)


class SandboxUnavailableError(UserError):
    """The machine does not reach the level that was asked for."""


def reach_level(wanted: SandboxLevel | None = None, *, required: SandboxLevel = "none") -> SandboxLevel:
    """Return the level to run at, or raise `SandboxUnavailableError`.

    The way to a better level is logged.
    """
    obstacles: dict[SandboxLevel, str] = {level: _obstacle(level) for level in LEVELS}
    if wanted is not None and obstacles[wanted]:
        raise SandboxUnavailableError(f"sandbox level {wanted} is unavailable: {obstacles[wanted]}")
    reached: list[SandboxLevel] = [level for level in LEVELS if not obstacles[level]]
    level: SandboxLevel = wanted or reached[0]
    better = LEVELS[: LEVELS.index(level)]
    if required in better:
        way = obstacles[required] or "choose no `sandbox`, or the one required"
        raise SandboxUnavailableError(f"{required} is required, and blocks would run at {level}: {way}")
    if better:
        _warn_of_better(level, better, obstacles)
    return level


def _warn_of_better(level: SandboxLevel, better: Sequence[SandboxLevel], obstacles: Mapping[SandboxLevel, str]) -> None:
    ways = [_way_to(other, obstacles[other]) for other in better]
    logger.warning(f"sandbox level {level}; for a better one: {'; '.join(ways)}")


def _way_to(level: SandboxLevel, obstacle: str) -> str:
    if obstacle:
        return f"{obstacle} (for {level})"
    return f"choose {level}"


def _obstacle(level: SandboxLevel) -> str:
    """Return the obstacle to a level and its remedy, or nothing."""
    if level == "none":
        return ""
    if sys.platform != "linux":
        return "run on Linux, or in a Linux container or virtual machine"
    if os.uname().machine not in ARCHITECTURES:
        return f"run on {' or '.join(sorted(ARCHITECTURES))}, this is {os.uname().machine}"
    if level == "bwrap+seccomp":
        return bubblewrap.probe()
    if level == "landlock+seccomp" and landlock_version() <= 0:
        return "boot a kernel with Landlock (5.13 or later, lsm=landlock)"
    return ""
