"""The study of reinforcement: GRPO from each contract's model."""

from collections.abc import Iterator

from carryover.tasks.plans.hypotheses import read_hypotheses
from carryover.tasks.plans.laptop_full import MAX_COMPLETION_TOKENS, MAX_TURNS, evaluation, laptop_part
from carryover.tasks.plans.seeds import REINFORCEMENT_SEED
from carryover.tasks.plans.study_plan import StudyPart
from carryover.tasks.reinforcement.reinforcement_spec import ReinforcementSpec

RUNTIMES = ("other", "own")
"""The runtime of the other contract, and as the control that of the model's training."""

_LAPTOP = ReinforcementSpec(
    most_updates=30,
    least_updates=10,
    instances_per_update=4,
    episodes_per_instance=8,
    sequences_per_pass=1,  # no padding: conversations of an update have 1,000 to 7,500 tokens
    first_seed=REINFORCEMENT_SEED,
    turn_price=0.02,
    temperature=1.25,
    max_turns=MAX_TURNS,
    max_completion_tokens=MAX_COMPLETION_TOKENS,
    max_episode_tokens=7_500,
    learning_rate=2e-4,
)

REINFORCEMENT: dict[str, ReinforcementSpec] = {
    "laptop": _LAPTOP,
    "smoke": _LAPTOP.model_copy(
        update={
            "most_updates": 2,
            "least_updates": 1,
            "missed_share": 0.0,
            "instances_per_update": 1,
            "episodes_per_instance": 2,
            "sequences_per_pass": 2,
            "max_turns": 2,
            "max_completion_tokens": 64,
            "save_updates": 1,
        }
    ),
}
"""The named reinforcements."""


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
        played = [each.model_copy(update={"variant": variant, "has_base_rows": False}) for each in plain.evaluations]
        changes = {
            "name": variant,
            "reinforcement": spec.model_copy(update={"runtime": runtime}),
            "evaluations": tuple(played),
        }
        yield plain.model_copy(update=changes)
