"""The study of reinforcement: GRPO from each contract's model."""

from collections.abc import Iterator

from carryover.tasks.plans.hypotheses import read_hypotheses
from carryover.tasks.plans.laptop_full import evaluation, laptop_part
from carryover.tasks.plans.study_plan import StudyPart
from carryover.tasks.reinforcement.reinforcement_spec import REINFORCEMENT, ReinforcementSpec

RUNTIMES = ("other", "own")
"""The runtime of the other contract, and as the control that of the model's training."""


def rl_parts() -> Iterator[StudyPart]:
    """Yield the laptop study, then its models reinforced in either runtime."""
    for seed in read_hypotheses().protocol.reinforced_seeds:
        plain = laptop_part(training_seeds=(seed,), evaluations=(evaluation(),))
        yield from reinforced_parts(plain, REINFORCEMENT["laptop"])


def reinforced_parts(plain: StudyPart, spec: ReinforcementSpec) -> Iterator[StudyPart]:
    """Yield a part, then its models reinforced, on the same instances."""
    yield plain
    for runtime in RUNTIMES:
        variant = f"rl-{runtime}"
        played = [
            each.model_copy(update={"variant": variant, "has_base_rows": False, "has_scripted_rows": False})
            for each in plain.evaluations
        ]
        changes = {
            "name": variant,
            "reinforcement": spec.model_copy(update={"runtime": runtime}),
            "evaluations": tuple(played),
        }
        yield plain.model_copy(update=changes)
