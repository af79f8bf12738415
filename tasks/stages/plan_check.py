"""The check that conditions played the instances of their plan."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import chain

import polars as pl
from pydantic import ValidationError

from carryover.tasks.agent.condition import Condition
from carryover.tasks.plans.models import (
    StudyModel,
    evaluation_conditions,
    model_name,
    script_conditions,
    trained_arms,
)
from carryover.tasks.plans.study_plan import InstanceSetSpec, StudyPart, StudyPlan, teacher_conditions

NAME = "plan_instance_counts"
PLANS = "select distinct plan_digest, plan_json from main.runs"
PLAYED = """
select
    plan_digest, purpose, variant, base, train_contract, training_seed, runtime_contract, visibility, header, bucket,
    replicate,
    count(distinct instance_id) as played_count,
    -- a failed episode counts as played: Table 6 shows it, and the next start plays it again
    count(*) filter (is_last_attempt and finish_reason <> 'error') as ended_count
from staging.plan_episodes
inner join staging.attempts using (plan_digest, episode_id)
group by all
"""
_CONDITION = {
    **dict.fromkeys(("purpose", "variant", "base", "train_contract"), pl.String),
    "training_seed": pl.Int64,
    **dict.fromkeys(("runtime_contract", "visibility", "header", "bucket"), pl.String),
}
_KEY = {"plan_digest": pl.String, **_CONDITION, "replicate": pl.Int64}


def miscounted_conditions(plans: pl.DataFrame, played: pl.DataFrame) -> pl.DataFrame:
    """Return conditions that played other instances than planned, with counts.

    They played too few, none, too many or unplanned ones, or one twice. A purpose counts once one of its conditions
    has played. Plans of another version are left out, and so are variants that a plan does not name: those of a
    re-evaluation.

    The frames hold rows of `PLANS` and `PLAYED`.
    """
    wanted: dict[tuple[object, ...], set[int]] = defaultdict(set)
    for plan_digest, plan_json in plans.iter_rows():
        try:
            plan = StudyPlan.model_validate_json(plan_json)
        except ValidationError:
            continue
        for condition, instances, replicate in chain.from_iterable(map(_planned, plan.parts)):
            place = (getattr(condition, column) for column in _CONDITION)
            wanted[plan_digest, *place, replicate].update(instances.seeds)
    counts = [(*place, len(seeds)) for place, seeds in wanted.items()]
    planned = pl.DataFrame(counts, schema={**_KEY, "planned_count": pl.Int64}, orient="row")
    of_plans = played.join(planned, on=["plan_digest", "purpose", "variant"], how="semi")
    compared = planned.join(of_plans, on=list(_KEY), how="full", coalesce=True, nulls_equal=True).with_columns(
        pl.col("planned_count", "played_count", "ended_count").fill_null(0)
    )
    is_off = (pl.col("played_count") != pl.col("planned_count")) | (pl.col("ended_count") > pl.col("planned_count"))
    return compared.join(of_plans, on=["plan_digest", "purpose"], how="semi").filter(is_off).sort(list(_KEY))


def _planned(part: StudyPart) -> Iterator[tuple[Condition, InstanceSetSpec, int]]:
    """Yield every condition and replicate of a part with its instances."""
    yield from ((condition, part.train_instances, 0) for condition in teacher_conditions(part))
    unknown = {"path": "", "digest": None, "identity": ""}
    models = [StudyModel(name="base", kind="base", train_contract=None, training_seed=None, **unknown)]
    for contract, seed in trained_arms(part):
        name = model_name(contract, seed)
        models.append(StudyModel(name=name, kind="adapter", train_contract=contract, training_seed=seed, **unknown))
    for evaluation in part.evaluations:
        for condition in (*evaluation_conditions(part, evaluation, models), *script_conditions(part, evaluation)):
            yield from ((condition, evaluation.instances, replicate) for replicate in range(evaluation.replicates))
