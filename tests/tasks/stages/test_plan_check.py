"""A plan's conditions count once one of them has played; a re-evaluation's variant is none of them."""

import polars as pl

from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.stages.plan_check import miscounted_conditions

PLAN = resolve_plan("smoke")
PLANS = pl.DataFrame({"plan_digest": [PLAN.digest], "plan_json": [PLAN.model_dump_json()]})


def played(variant):
    """One condition that played every instance."""
    (part,) = PLAN.parts
    row = {
        "plan_digest": PLAN.digest,
        "purpose": "evaluation",
        "variant": variant,
        "base": "scratch",
        "train_contract": None,
        "training_seed": None,
        "runtime_contract": "persistent",
        "visibility": "declared",
        "header": "names",
        "bucket": part.train_instances.bucket,
        "replicate": 0,
        "played_count": 6,
        "ended_count": 6,
    }
    return pl.DataFrame([row], schema_overrides={"train_contract": pl.String, "training_seed": pl.Int64})


def test_a_night_before_any_study_leaves_no_condition_short():
    assert miscounted_conditions(PLANS, played("reevaluation")).is_empty()


def test_one_condition_of_the_plan_makes_the_others_short():
    miscounted = miscounted_conditions(PLANS, played("main"))
    assert miscounted.height == 9  # ten cells: four of models, two of the base, four of scripts
    assert miscounted["played_count"].to_list() == [0] * 9
