"""What heads a column, and whether a setting bears a verdict."""

import json

import pytest

from carryover.tasks.traces.study_rows import RunRow
from tests.sql.hand_made import CELLS, OTHER_SETTINGS, PAIR, add_pairs
from tests.storage.conftest import build_row

GEMINI = "gemini-3-flash-preview"


def test_teachers_are_labelled_by_scale_and_name(warehouse):
    for scale, model_name in (
        ("paper", "scripted"),
        ("paper", f"google/{GEMINI}"),
        ("paper", "gemini-3-flash"),
        ("paper", "gemini-3-flash-lite"),
        ("laptop", "scripted"),
        ("laptop", GEMINI),
        ("import", "imported"),
        ("import", GEMINI),
        ("import", "large"),
    ):
        for instance in ("i1", "i2"):
            warehouse.episode("teacher->P", instance, scale=scale, model_name=model_name)
    warehouse.episode("P->P", model_name="no teacher")
    columns = ("scale", "model_name", "measured_on", "is_as_published")
    rows = warehouse.sql("from marts.teacher_labels")
    assert [tuple(row[column] for column in columns) for row in rows] == [
        ("import", GEMINI, f"imported rows, {GEMINI}", False),
        ("import", "imported", "imported rows", False),
        ("import", "large", "imported rows, large", False),
        ("laptop", GEMINI, "laptop, Gemini 3 Flash", False),
        ("laptop", "scripted", "laptop, not Gemini 3 Flash", False),
        ("paper", "gemini-3-flash", "paper, Gemini 3 Flash", True),
        ("paper", "gemini-3-flash-lite", "paper, gemini-3-flash-lite", False),
        ("paper", f"google/{GEMINI}", "paper, Gemini 3 Flash", True),
        ("paper", "scripted", "paper, not Gemini 3 Flash", False),
    ]


def add_plan(warehouse, plan, parts, scale="pretrained", **values):
    told = {"run_id": plan, "plan_digest": plan, "plan_json": json.dumps({"parts": parts}), "environment_json": "{}"}
    warehouse.add(build_row(RunRow, scale=scale, **{**told, **values}))


def part(base, base_model, base_title=None):
    return {"base": base, "training": {"base_model": base_model, "base_title": base_title}}


def test_bases_are_labelled_by_their_models(warehouse):
    parts = [part("hub", "b/model"), part("hub", "a/model"), part("common", "/models/tiny/"), part("hub", "b/model")]
    add_plan(warehouse, "b plan", [*parts, part("scratch", None)])
    add_plan(warehouse, "a plan", [part("hub", "/weights/q", "Q, dequantized")], scale="paper")
    add_plan(warehouse, "laptop", [part("hub", "b/model")], scale="laptop")
    add_plan(warehouse, "prose", [], plan_json="a plan in words")
    rows = warehouse.sql("from staging.base_models")
    assert [(row["plan_digest"], row["base"], row["model"]) for row in rows] == [
        ("a plan", "hub", "Q, dequantized"),
        ("b plan", "common", "tiny"),
        ("b plan", "hub", "a/model and b/model"),
    ]


def judged(warehouse, *columns):
    (row,) = warehouse.sql("from marts.judged_settings")
    return tuple(row[column] for column in columns)


def test_a_verdict_needs_twenty_instances_of_the_aligned_cell(warehouse):
    add_pairs(warehouse, range(19))
    add_pairs(warehouse, range(19), training_seed=1)
    add_pairs(warehouse, [19], cells=("P->S",))
    add_pairs(warehouse, [20], cells=("P->P",), finish_reason="error")
    reason = "19 instances in P->P: a verdict needs 20"
    columns = ("instance_count", "ended_pair_count", "no_verdict_reason", "no_pair_verdict_reason")
    assert judged(warehouse, *columns) == (19, 38, reason, reason)


def test_a_verdict_needs_half_the_score_of_the_aligned_cell(warehouse):
    add_pairs(warehouse, range(10), score=1.0, cells=("P->P",))
    add_pairs(warehouse, range(10, 20), score=0.0, cells=("P->P",))
    assert judged(warehouse, "p_on_p_score_pct", "no_verdict_reason") == (50, None)
    add_pairs(warehouse, range(20, 24), score=0.3, cells=("P->P",))
    add_pairs(warehouse, range(24), score=1.0, cells=("P->S", "S->P", "S->S"))
    reason = "P->P did not learn the task: it scores 46.7 %, a verdict needs 50.0 %"
    assert judged(warehouse, "no_verdict_reason") == (reason,)


@pytest.mark.parametrize("odd", [{"training_seed": 1}, {"replicate": 1}, {"finish_reason": "max_turns"}])
def test_a_pair_is_of_four_cells_that_ended_on_one_seed_and_replicate(warehouse, odd):
    add_pairs(warehouse, range(19))
    add_pairs(warehouse, [19], cells=CELLS[:3])
    add_pairs(warehouse, [19], cells=CELLS[3:], **odd)
    add_pairs(warehouse, range(20), cells=("P->I",))
    reason = "19 pairs ended in all four cells: a verdict on pairs needs 20"
    columns = ("instance_count", "ended_pair_count", "no_verdict_reason", "no_pair_verdict_reason")
    assert judged(warehouse, *columns) == (20, 19, None, reason)


def test_each_setting_is_judged_by_itself(warehouse):
    add_pairs(warehouse, range(20))
    for values in OTHER_SETTINGS:
        add_pairs(warehouse, [20], **values)
    add_pairs(warehouse, [0], base="teacher", training_seed=None)
    add_pairs(warehouse, [0], cells=("base->P",), base="third")
    counts = {row["base"]: row["instance_count"] for row in warehouse.sql("from marts.judged_settings")}
    assert sorted(row["instance_count"] for row in warehouse.sql("from marts.judged_settings")) == [0, *[1] * 7, 20]
    assert (counts["teacher"], counts["third"]) == (1, 0)


@pytest.mark.parametrize(
    ("instance_count", "scale", "verdict"), [(20, "laptop", "identical"), (19, "laptop", None), (20, "smoke", None)]
)
def test_scripts_bear_a_verdict_under_the_rule_of_models(warehouse, instance_count, scale, verdict):
    add_pairs(warehouse, range(instance_count), base="teacher", training_seed=None, scale=scale)
    warehouse.statistic("equivalence", **PAIR, base="teacher", verdict="identical")
    (row,) = warehouse.table("equivalence")
    assert row["within_5_points"] == verdict
    assert (row["note"] is None) == (verdict is not None)


def test_a_base_without_adapters_bears_no_verdict(warehouse):
    warehouse.run()
    add_pairs(warehouse, range(20), cells=("base->P", "base->S"))
    arms = {"train_a": None, "train_b": None, "runtime_a": "persistent", "runtime_b": "stateless"}
    warehouse.statistic("equivalence", **arms, comparison_group="base_on_runtimes", verdict="equivalent")
    (row,) = warehouse.table("equivalence")
    assert (row["within_5_points"], row["note"]) == (None, "no trained model was evaluated")


def test_a_setting_whose_episodes_all_failed_is_not_judged(warehouse):
    add_pairs(warehouse, [0], finish_reason="error")
    assert list(warehouse.sql("from marts.judged_settings")) == []


def test_equality_of_pairs_that_did_not_end_bears_no_verdict_in_any_table(warehouse):
    add_pairs(warehouse, range(20), finish_reason="max_turns")
    warehouse.statistic("wilcoxon", **PAIR, p_value=0.5)
    warehouse.statistic("equivalence", **PAIR, verdict="equivalent")
    verdicts = [row["within_5_points"] for row in warehouse.table("equivalence")]
    verdicts += [row["equivalence_verdict"] for row in warehouse.table("table_7")]
    assert verdicts == [None, None]
