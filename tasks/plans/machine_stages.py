"""Rows of the dry run, and those of the stages that ask no endpoint: instances, preparation and analysis."""

from collections.abc import Sequence
from typing import NamedTuple

from carryover.tasks.plans.spec import InstanceSetSpec, StudyPlan

MACHINE_BASIS = "estimate: processor time of an earlier run, on one core"

INSTANCE_SECONDS = {"easy": 0.0013, "hard": 0.0069, "small": 0.00025, "small_large": 0.00035, "small_costly": 0.00027}
"""To sample and validate an instance of a bucket."""
PREPARED_TOKENS_PER_SECOND = 1_300_000
"""Tokens of traces checked, extracted, counted and fitted into the context."""
MERGE_SECONDS_PER_EPISODE = 0.0007
"""Into the warehouse and measured, at eight steps an episode."""
STATISTICS_SECONDS_PER_GROUP = 3.2
"""Every interval and test of a group of cells, three training seeds in each."""
CHECK_SECONDS = 3.6
"""The checks on the merged tables."""


class StageEstimate(NamedTuple):
    """A row of the dry run."""

    stage: str
    basis: str
    """Where the figures come from."""
    hours: float
    episodes: int = 0
    """Episodes played; none in a training."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    """Tokens of an endpoint, as `max_tokens_total` counts them."""
    training_tokens: int = 0
    """Tokens trained on, all passes and seeds; no endpoint is asked for them."""
    cost: float = 0.0
    """At the given prices; nothing where the study serves the model itself."""


def instance_row(instances: InstanceSetSpec) -> StageEstimate:
    """Return what the instances of a set take."""
    stage = f"instances, {instances.bucket} for {instances.split}"
    return _row(stage, instances.count * INSTANCE_SECONDS[instances.bucket])


def preparation_row(stage: str, token_count: float) -> StageEstimate:
    """Return what checking and fitting traces of so many tokens takes."""
    return _row(stage, token_count / PREPARED_TOKENS_PER_SECOND)


def analysis_row(plan: StudyPlan, rows: Sequence[StageEstimate]) -> StageEstimate:
    """Return what merge, statistics and checks take, after the episodes of the other rows."""
    groups = {
        (evaluation.variant or part.variant, part.base, evaluation.instances.bucket, evaluation.visibility,
         evaluation.header)
        for part in plan.parts
        for evaluation in part.evaluations
    }  # fmt: skip
    merging = sum(row.episodes for row in rows) * MERGE_SECONDS_PER_EPISODE
    return _row("analysis", merging + len(groups) * STATISTICS_SECONDS_PER_GROUP + CHECK_SECONDS)


def _row(stage: str, seconds: float) -> StageEstimate:
    return StageEstimate(stage=stage, hours=seconds / 3600, basis=MACHINE_BASIS)
