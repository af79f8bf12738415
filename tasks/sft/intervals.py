"""How often a training logs, saves and validates, once the number of its steps is known."""

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from carryover.tasks.sft.spec import TrainingSpec

if TYPE_CHECKING:
    from transformers import TrainerCallback

SPARED_SHARE = 0.25
"""Share of its steps, rounded up to whole ones, that a killed training loses at most."""
VALIDATIONS = 10
"""Validation losses of a training of at least as many steps."""


class Intervals(NamedTuple):
    """Optimizer steps from one log line, one checkpoint and one validation to the next."""

    logging: int
    saving: int
    """A multiple of `logging`, so that a resumed run logs the same averages as an unbroken one."""
    validation: int
    """A multiple of `logging`, so that each loss stands in a log line."""


def find_intervals(spec: TrainingSpec, step_count: int) -> Intervals:
    """Return the spec's intervals, or shorter ones: a kill loses a quarter of the steps, ten validations fit in."""
    longest = math.ceil(step_count * SPARED_SHARE)
    between = max(1, min(spec.evaluation_steps, step_count // VALIDATIONS))
    logging = min(spec.logging_steps, between if spec.validation_share else longest)
    return Intervals(
        logging, min(spec.save_steps, longest) // logging * logging, max(logging, between // logging * logging)
    )


def interval_callback(spec: TrainingSpec) -> "TrainerCallback":
    """Return a trainer callback that sets the intervals when the training begins and has counted its steps."""
    from transformers import TrainerCallback

    class IntervalCallback(TrainerCallback):
        """Replaces the intervals that the trainer took from its arguments."""

        def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            state.logging_steps, state.save_steps, state.eval_steps = find_intervals(spec, state.max_steps)

    return IntervalCallback()
