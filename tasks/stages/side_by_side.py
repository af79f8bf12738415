"""How many trainings this machine runs side by side."""

import os
from collections.abc import Sequence
from typing import Protocol

from carryover.tasks.plans.run import Run
from carryover.tasks.services.environment import processor_count
from carryover.tasks.sft.gpu_places import visible_gpus
from carryover.tasks.sft.machine import Machine, MachineNeed, held_at_once

AT_ONCE = max(2, processor_count() // 2)
"""Tasks of a flow at a time: each keeps a processor busy, and what it starts another one."""


class Planned(Protocol):
    """A training that a stage is to submit."""

    @property
    def need(self) -> MachineNeed:
        """Hardware that it needs."""
        ...


def trainings_at_once(run: Run, planned: Sequence[Planned], machine: Machine) -> int:
    """Return how many of the planned trainings are submitted at a time.

    Of those for GPUs as many as these have places for; all, where the GPUs are not seen from here.
    """
    if run.limits.trainings_at_once is not None:
        return run.limits.trainings_at_once
    needs = [each.need for each in planned]
    if all(need.has_gpu for need in needs):
        places = len(visible_gpus(os.environ)) * run.limits.trainings_per_gpu // run.limits.gpus_per_training
        return min(len(needs), places or len(needs))
    return min(AT_ONCE, held_at_once(needs, machine))
