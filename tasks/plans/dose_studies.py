"""Studies of a dose: a teacher's batch, another contract's share, lifetimes."""

from collections.abc import Iterator
from itertools import product

from carryover.tasks.analysis.statistics_spec import LIFETIMES
from carryover.tasks.plans.hypotheses import read_hypotheses
from carryover.tasks.plans.laptop_full import evaluation, laptop_part, teacher_episode
from carryover.tasks.plans.study_plan import StudyPart

BATCHES = (1, 3, "all")
"""Items that a teacher's block takes; it inspects three, as in the other laptop studies."""
OTHER_SHARES = {"0": 0.0, "10": 0.1, "50": 0.5, "100": 1.0}
"""Shares of instances whose traces train the other contract's model, by their percentage."""


def batch_parts() -> Iterator[StudyPart]:
    """Yield the 2x2 for each batch of the teacher, seed by seed."""
    protocol = read_hypotheses().protocol
    plain = laptop_part(evaluations=(evaluation(count=protocol.dose_instances_per_cell),))
    for seed, batch in product(protocol.dose_seeds, BATCHES):
        variant = f"batch-{batch}"
        teacher = plain.teacher.model_copy(update={"habits": {"taken_per_turn": (batch,)}})
        changes = {"name": f"{variant}-{seed}", "variant": variant, "teacher": teacher, "training_seeds": (seed,)}
        yield plain.model_copy(update=changes)


def mixture_parts() -> Iterator[StudyPart]:
    """Yield the 2x2 per share of the other contract's episodes.

    With and without the contract in the prompts.
    """
    for seed in read_hypotheses().protocol.dose_seeds:
        for percentage in OTHER_SHARES:
            yield _mixture(seed, percentage, is_declared=True)
            yield _mixture(seed, percentage, is_declared=False)


def lifetime_parts() -> Iterator[StudyPart]:
    """Yield a model per lifetime under every lifetime, seed by seed.

    Prompts name the runtime in force, and then the one of training: a model from scratch cannot read words that no
    prompt of its traces had.
    """
    for seed in read_hypotheses().protocol.dose_seeds:
        yield lifetime_part(laptop_part(), seed, count=read_hypotheses().protocol.dose_instances_per_cell)


def lifetime_part(plain: StudyPart, seed: int, *, count: int) -> StudyPart:
    """Return a part that trains and plays under every lifetime."""
    declared = evaluation(count=count, runtime_contracts=LIFETIMES)
    changes = {
        "name": f"lifetimes-{seed}",
        "variant": "lifetimes",
        "teacher": plain.teacher.model_copy(update={"contracts": LIFETIMES}),
        "training_seeds": (seed,),
        "evaluations": (declared, declared.model_copy(update={"visibility": "as_trained"})),
    }
    return plain.model_copy(update=changes)


def _mixture(seed: int, percentage: str, *, is_declared: bool) -> StudyPart:
    plain = laptop_part()
    variant = f"mixture-{percentage}"
    played = evaluation(count=read_hypotheses().protocol.dose_instances_per_cell)
    teacher = plain.teacher
    if not is_declared:
        variant = f"{variant}-undeclared"
        silent = played.episode.model_copy(update={"declares_contract": False})
        played = played.model_copy(update={"episode": silent})
        shown = teacher_episode(declares_contract=False, varies_wording=False)
        teacher = teacher.model_copy(update={"episode": shown})
    changes = {
        "name": f"{variant}-{seed}",
        "variant": variant,
        "teacher": teacher,
        "dataset": plain.dataset.model_copy(update={"other_share": OTHER_SHARES[percentage]}),
        "training_seeds": (seed,),
        "evaluations": (played,),
    }
    return plain.model_copy(update=changes)
