"""Trainings that this machine runs side by side."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

from carryover.tasks.plans.run import Run
from carryover.tasks.services.environment import processor_count
from carryover.tasks.sft.machine import Machine, MachineNeed, held_at_once

AT_ONCE = max(2, processor_count() // 2)
"""Tasks of a flow at a time: each keeps a processor busy, and what it starts another one."""


class Planned(Protocol):
    """A training that a stage is to submit."""

    @property
    def need(self) -> MachineNeed:
        """Hardware that it needs."""
        ...


PlannedWork = TypeVar("PlannedWork", bound=Planned)


def side_by_side(run: Run, planned: Sequence[PlannedWork], machine: Machine) -> list[Sequence[PlannedWork]]:
    """Return the groups that are submitted together.

    The flow's runner works on `AT_ONCE` of a group at a time.
    """
    at_once = run.limits.trainings_at_once or held_at_once([each.need for each in planned], machine)
    if at_once >= AT_ONCE:
        return [planned]
    return [planned[start : start + at_once] for start in range(0, len(planned), at_once)]
