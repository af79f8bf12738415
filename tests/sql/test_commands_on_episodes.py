"""The commands' queries about a plan's episodes, instances and statistics; rows worked out by hand."""

from datetime import timedelta

import pytest

from carryover.tasks.analysis.queries import command_sql
from carryover.tasks.traces.rows import InstanceRow, StepRow, TurnRow
from carryover.tasks.traces.study_rows import ReusedEpisodeRow, RunEndRow, RunRow
from tests.sql.hand_made_warehouse import NOW
from tests.storage.conftest import build_row


def ask(warehouse, command, **parameters):
    """Return the rows of a command's query as tuples."""
    return [tuple(row.values()) for row in warehouse.sql(command_sql(command), **parameters)]


def column_of(warehouse, command, column="episode_id", **parameters):
    """Return one column of a command's query."""
    return [row[column] for row in warehouse.sql(command_sql(command), **parameters)]


@pytest.fixture
def plan(warehouse):
    """An episode that failed, went well again, and another; a teacher's; one of another plan."""
    warehouse.run()
    told = {"run_id": "other run", "plan_digest": "other", "plan_name": "of the other run"}
    warehouse.add(build_row(RunRow, plan_json="{}", environment_json="{}", **told))
    warehouse.episode("P->P", "i1", 0.1, episode_id="failed", finish_reason="error")
    warehouse.episode("P->P", "i1", 0.9, episode_id="again", attempt=1)
    warehouse.episode("P->P", "i2", 0.5, episode_id="failed at last", finish_reason="error")
    warehouse.episode("S->P", "i1", 0.5, episode_id="stateless")
    warehouse.episode("teacher->P", "i1", 1.0, episode_id="teacher")
    warehouse.episode("P->P", "i1", 0.5, episode_id="other", plan_digest="other", run_id="other run")
    return warehouse


@pytest.mark.parametrize(
    ("digest", "counted"),
    [("plan", {"again", "stateless", "teacher"}), (None, {"again", "stateless", "teacher", "other"}), ("none", set())],
)
def test_counted_episodes_are_the_last_attempts_that_did_not_fail(plan, digest, counted):
    assert set(column_of(plan, "counted_episodes", plan_digest=digest)) == counted


def test_a_reused_episode_is_counted_once_and_for_the_asking_plan(warehouse):
    warehouse.run()
    warehouse.episode("P->P", "i1", episode_id="played")
    warehouse.add(build_row(ReusedEpisodeRow, plan_digest="other", episode_id="played"))
    for asked, told in (("plan", "plan"), ("other", "other"), (None, "plan")):
        rows = warehouse.sql(command_sql("counted_episodes"), plan_digest=asked)
        assert [(row["episode_id"], row["plan_digest"]) for row in rows] == [("played", told)]
    assert ask(warehouse, "counted_episodes", plan_digest="none") == []


def test_metrics_are_those_of_every_attempt_of_a_plan(plan):
    assert set(column_of(plan, "plan_metrics", plan_digest="plan")) == {
        "failed", "again", "failed at last", "stateless", "teacher",
    }  # fmt: skip


def test_episodes_that_failed_at_last_are_counted(plan):
    plan.episode("P->P", "i3", 0.5, finish_reason="max_turns")
    assert ask(plan, "failed_count", plan_digest="plan") == [(1,)]
    assert ask(plan, "failed_count", plan_digest="other") == [(0,)]


def test_episodes_are_found_by_instance_or_beginning_of_the_id(plan):
    assert column_of(plan, "found_episodes", name="fail") == ["failed", "failed at last"]
    assert column_of(plan, "found_episodes", name="i2") == ["failed at last"]
    assert column_of(plan, "found_episodes", "plan_name", name="other") == ["of the other run"]
    assert column_of(plan, "found_episodes", name="i1") == ["again", "failed", "other", "stateless", "teacher"]
    for reusing in ("other", "reusing"):
        plan.add(build_row(ReusedEpisodeRow, plan_digest=reusing, episode_id="teacher"))
    assert column_of(plan, "found_episodes", "plan_digest", name="teacher") == ["other", "reusing", "plan"]


def test_turns_stand_beside_the_steps_that_they_ran(warehouse):
    for turn in (2, 0, 1):
        warehouse.add(build_row(TurnRow, episode_id="e", turn=turn))
    warehouse.add(build_row(TurnRow, episode_id="other", turn=1))
    step = {"injected_fault": "delay", "state_event": "lost"}
    for number in (3, 1, 2):
        warehouse.add(build_row(StepRow, episode_id="e", step=number, turn=2, code=f"x = {number}", **step))
    warehouse.add(build_row(StepRow, episode_id="other", step=1, turn=1, code="y = 1"))
    rows = warehouse.sql(command_sql("episode_turns"), episode_id="e")
    columns = ("turn", "code", "injected_fault", "state_event")
    assert [tuple(row[column] for column in columns) for row in rows] == [
        (0, None, None, None),
        (1, None, None, None),
        (2, "x = 1", "delay", "lost"),
        (2, "x = 2", "delay", "lost"),
        (2, "x = 3", "delay", "lost"),
    ]


def test_judged_episodes_are_every_evaluation_in_the_order_of_play(plan):
    earlier = NOW - timedelta(hours=1)
    plan.episode("P->P", "i8", episode_id="z early", started_at=earlier, run_id="broken off")
    plan.episode("P->P", "i9", episode_id="early", started_at=earlier, run_id="ended")
    for run_id, status in (("ended", "finished"), ("broken off", "failed")):
        plan.add(build_row(RunEndRow, run_id=run_id, status=status))
    rows = plan.sql(command_sql("judged_episodes"), plan_digest="plan")
    assert [(row["episode_id"], row["is_of_finished_run"]) for row in rows] == [
        ("early", True),
        ("z early", False),
        ("again", False),
        ("failed", False),
        ("failed at last", False),
        ("stateless", False),
    ]
    assert {row["transcript_digest"] for row in rows} == {None}


def test_pairs_count_where_both_episodes_ended(warehouse):
    for instance, cells in (("i1", ("P->P", "P->S", "S->P")), ("i2", ("P->P", "P->S"))):
        for cell in cells:
            warehouse.episode(cell, instance)
    warehouse.episode("P->P", "i3")
    warehouse.episode("P->S", "i3", finish_reason="max_turns")
    warehouse.episode("P->P", "i4", training_seed=1)
    warehouse.episode("P->S", "i4", training_seed=2)
    warehouse.episode("P->P", "i5")
    warehouse.episode("P->S", "i5", replicate=1)
    warehouse.episode("P->P", "i6")
    warehouse.episode("P->S", "i6", plan_digest="other")
    warehouse.episode("P->P", "i7")
    warehouse.episode("P->S", "i7", attempt=0)
    warehouse.episode("P->S", "i7", attempt=1, finish_reason="max_turns")
    for cell in ("base->P", "base->S"):
        warehouse.episode(cell, "i1")
    for cell in ("P->P", "P->S"):
        warehouse.episode(cell, "i1", training_seed=None, header="none")
    setting = ("main", "common", "declared")
    assert ask(warehouse, "ended_pairs", plan_digest="plan") == [
        (*setting, "names", "small", "P->P", "P->S", 2),
        (*setting, "names", "small", "P->P", "S->P", 1),
        (*setting, "names", "small", "P->S", "S->P", 1),
        (*setting, "none", "small", "P->P", "P->S", 1),
    ]


def test_settings_of_a_plan_say_why_they_bear_no_verdict(warehouse):
    for bucket, plan_digest in (("small", "plan"), ("large", "plan"), ("other", "other")):
        warehouse.episode("P->P", "i1", 0.9, bucket=bucket, plan_digest=plan_digest)
    setting = ("main", "common", "declared", "names")
    reason = "1 instances in P->P: a verdict needs 20"
    assert ask(warehouse, "judged_settings", plan_digest="plan") == [
        (*setting, "large", reason, 0),
        (*setting, "small", reason, 0),
    ]


@pytest.mark.parametrize(("cells", "label"), [(["P->P"], "paper, trained"), ([], "paper, a script")])
def test_a_plan_is_labelled_by_its_models_before_its_teachers(warehouse, cells, label):
    warehouse.run(scale="paper", base_title="trained")
    warehouse.episode("P->P", plan_digest="other", scale="smoke")
    for number, cell in enumerate(("teacher->P", *cells)):
        warehouse.episode(cell, f"i{number}", scale="paper")
    warehouse.episode("P->P", base="teacher", training_seed=None, model_name="a script", scale="paper")
    assert ask(warehouse, "measured_on", plan_digest="plan") == [(label,)]


def test_families_of_a_plan_are_told_once(warehouse):
    for family, plan_digest in (("map", "plan"), ("log", "plan"), ("log", "plan"), ("knapsack", "other")):
        warehouse.episode(family=family, plan_digest=plan_digest)
    assert ask(warehouse, "plan_families", plan_digest="plan") == [("log",), ("map",)]


def test_other_families_are_described_once_by_their_specs(warehouse):
    for number, (family, spec) in enumerate(
        [("map", "b"), ("map", "a"), ("log", "c"), ("map", "a"), ("knapsack", "d")]
    ):
        warehouse.add(build_row(InstanceRow, instance_id=f"i{number}", family=family, spec_json=spec))
    assert ask(warehouse, "described_families") == [("log", "c"), ("map", "a"), ("map", "b")]


def test_known_instances_are_told_by_task_capacity_and_optimum(warehouse):
    for instance_id, task_id, capacity, optimum, split in (
        ("one", "a", 10, 7, "train"),
        ("one", "a", 10, 7, "evaluation"),
        ("larger", "a", 11, 7, "train"),
        ("richer", "a", 10, 8, "train"),
        ("another", "b", 10, 7, "train"),
    ):
        content = {"task_id": task_id, "capacity": capacity, "optimal_value": optimum}
        warehouse.add(build_row(InstanceRow, instance_id=instance_id, split=split, **content))
    assert sorted(ask(warehouse, "known_instances")) == [
        ("a", 10, 7, "one"),
        ("a", 10, 8, "richer"),
        ("a", 11, 7, "larger"),
        ("b", 10, 7, "another"),
    ]


def test_statistics_are_those_of_the_plan(warehouse):
    warehouse.statistic("mean", statistic_id="ours")
    warehouse.statistic("mean", statistic_id="other", plan_digest="other")
    assert column_of(warehouse, "plan_statistics", "statistic_id", plan_digest="plan") == ["ours"]


CELL = {
    "purpose": "evaluation", "train_contract": "persistent", "variant": "main", "base": "common", "bucket": "small",
}  # fmt: skip


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ({}, [("theirs",)]),
        ({"model_name": "ours"}, []),
        ({"plan_digest": "other"}, []),
        ({"purpose": "teacher"}, []),
        ({"train_contract": None}, []),
        ({"variant": "no_faults"}, []),
        ({"base": "hub"}, []),
        ({"bucket": "large"}, []),
    ],
)
def test_another_model_holds_a_place_of_the_same_cell_alone(warehouse, values, found):
    for instance in ("i1", "i2"):
        warehouse.episode("P->P", instance, **{"model_name": "theirs", **values})
    assert ask(warehouse, "other_models", plan="plan", model="ours", **CELL) == found


def test_another_base_holds_the_place_of_a_base(warehouse):
    warehouse.episode("base->P", model_name="theirs")
    cell = CELL | {"train_contract": None}
    assert ask(warehouse, "other_models", plan="plan", model="ours", **cell) == [("theirs",)]


@pytest.mark.parametrize(
    ("episodes", "bucket"),
    [
        ([("P->P", "large"), ("P->P", "large"), ("teacher->P", "small")], "small"),
        ([("P->P", "large"), ("P->P", "large"), ("P->P", "small")], "large"),
        ([("P->P", "small"), ("P->P", "large")], "large"),
    ],
)
def test_training_bucket_is_that_of_most_teacher_episodes(warehouse, episodes, bucket):
    for cell, of_bucket in (*episodes, *[("teacher->P", "other")] * 3):
        plan_digest = "other" if of_bucket == "other" else "plan"
        warehouse.episode(cell, bucket=of_bucket, plan_digest=plan_digest)
    assert ask(warehouse, "training_bucket", plan_digest="plan") == [(bucket,)]
