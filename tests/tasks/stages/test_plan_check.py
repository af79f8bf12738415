"""A plan's conditions count once one of them has played; a re-evaluation's variant is none of them."""

import polars as pl
import pytest

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


def whole_study():
    """Every planned condition, with as many instances as the plan has."""
    first = played("main")
    others = miscounted_conditions(PLANS, first).with_columns(
        played_count=pl.col("planned_count"), ended_count=pl.col("planned_count")
    )
    return pl.concat([first, others.select(first.columns)])


def test_a_study_that_played_its_plan_breaks_nothing():
    assert whole_study().height == 10
    assert miscounted_conditions(PLANS, whole_study()).is_empty()


@pytest.mark.parametrize(
    ("counts", "shown"),
    [
        ({"played_count": 5, "ended_count": 5}, (6, 5, 5)),
        ({"played_count": 7, "ended_count": 6}, (6, 7, 6)),
        ({"played_count": 6, "ended_count": 7}, (6, 6, 7)),
        ({"runtime_contract": "recent-1"}, (0, 6, 6)),
        ({"replicate": 1}, (0, 6, 6)),
    ],
)
def test_too_few_too_many_twice_and_unplanned_are_told(counts, shown):
    study = whole_study()
    changes = {name: pl.lit(value, study.schema[name]) for name, value in counts.items()}
    changed = pl.concat([study[:1].with_columns(**changes), study[1:]])
    found = miscounted_conditions(PLANS, changed)
    assert shown in found.select("planned_count", "played_count", "ended_count").rows()


def test_plans_of_another_version_are_left_out():
    unreadable = PLANS.with_columns(plan_json=pl.lit("{}"))
    assert miscounted_conditions(unreadable, whole_study()).is_empty()
