"""Trainings that this machine runs side by side."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

from carryover.tasks.plans.run import Run
from carryover.tasks.sft.machine import Machine, MachineNeed, holds_two


class Planned(Protocol):
    """A training that a stage is to submit."""

    @property
    def need(self) -> MachineNeed:
        """Hardware that it needs."""
        ...


PlannedWork = TypeVar("PlannedWork", bound=Planned)


def side_by_side(run: Run, planned: Sequence[PlannedWork], machine: Machine) -> list[Sequence[PlannedWork]]:
    """Return the groups that are submitted together.

    The flow's runner works on two of a group at once.
    """
    at_once = run.limits.trainings_at_once
    if at_once is None:
        at_once = 2 if all(holds_two(each.need, machine) for each in planned) else 1
    if at_once == 1:
        return [[each] for each in planned]
    return [planned]
