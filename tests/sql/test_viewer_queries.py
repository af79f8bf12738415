"""The viewer's queries on rows made by hand: which rows they return, and in which order."""

from datetime import timedelta

import pytest

from carryover.tasks.traces.result_rows import CaveTurnRow
from carryover.tasks.traces.rows import (
    ErrorRow,
    InstanceRow,
    NameEventRow,
    RuntimeEventRow,
    StepRow,
    ToolCallRow,
    TurnRow,
)
from carryover.tasks.traces.study_rows import ReusedEpisodeRow, RunEndRow, RunRow
from carryover.tasks.traces.training_rows import TrainingMetricRow, TrainingRunRow
from carryover.tasks.viewer.warehouse_rows import viewer_sql
from tests.sql.hand_made import GROUP, OURS
from tests.sql.hand_made_warehouse import NOW
from tests.storage.conftest import build_row

MEAN = {"train_a": "persistent", "runtime_a": "persistent"}


def ask(warehouse, query, *columns, **parameters):
    """Return some columns of a query of the viewer as tuples."""
    rows = warehouse.sql(viewer_sql(query), **parameters)
    return [tuple(row[column] for column in columns) for row in rows]


@pytest.mark.parametrize(
    ("query", "model", "keys"),
    [
        ("turns", TurnRow, ("turn",)),
        ("steps", StepRow, ("step",)),
        ("runtime_events", RuntimeEventRow, ("sequence",)),
        ("name_events", NameEventRow, ("step", "sequence")),
        ("tool_calls", ToolCallRow, ("step", "call")),
        ("errors", ErrorRow, ("turn", "error_index")),
    ],
)
def test_rows_of_the_asked_episodes_come_in_order(warehouse, query, model, keys):
    places = [(1, 1), (1, 2), (2, 0)] if len(keys) == 2 else [(1,), (2,)]
    for episode_id in ("c", "b", "a"):
        for place in reversed(places):
            warehouse.add(build_row(model, episode_id=episode_id, **dict(zip(keys, place, strict=True))))
    found = ask(warehouse, query, "episode_id", *keys, episode_ids=["b", "a"])
    assert found == [(episode_id, *place) for episode_id in ("a", "b") for place in places]


def test_losses_of_the_asked_trainings_come_in_order(warehouse):
    for training, step in (("c", 1), ("b", 2), ("b", 1), ("a", 2), ("a", 1)):
        warehouse.add(build_row(TrainingMetricRow, training_run_id=training, optimizer_step=step, loss=1 / step))
    found = ask(warehouse, "training_metrics", "training_run_id", "optimizer_step", "loss", training_run_ids=["b", "a"])
    assert found == [("a", 1, 1.0), ("a", 2, 0.5), ("b", 1, 1.0), ("b", 2, 0.5)]


def test_plans_have_the_name_and_scale_of_their_latest_run(warehouse):
    for hours, plan, name, scale in (
        (1, "plan", "smoke", "smoke"),
        (3, "plan", "laptop", "laptop"),
        (2, "other", "paper", "paper"),
    ):
        started_at = NOW + timedelta(hours=hours)
        told = {"plan_digest": plan, "plan_name": name, "scale": scale, "started_at": started_at}
        warehouse.add(build_row(RunRow, run_id=f"run {hours}", plan_json="{}", environment_json="{}", **told))
    assert ask(warehouse, "plans", "plan_digest", "plan_name", "scale", "started_at") == [
        ("plan", "laptop", "laptop", NOW + timedelta(hours=3)),
        ("other", "paper", "paper", NOW + timedelta(hours=2)),
    ]


def test_a_plan_has_trainings_on_its_own_and_reused_episodes(warehouse):
    columns = ("has_training", "has_suites")
    assert ask(warehouse, "study_parts", *columns, plan_digest="plan") == [(False, False)]
    teacher = warehouse.episode("teacher->P", plan_digest="plan")
    warehouse.example(teacher, "persistent", "retained")
    warehouse.add(build_row(CaveTurnRow, episode_id="c"))
    assert ask(warehouse, "study_parts", *columns, plan_digest="plan") == [(True, True)]
    assert ask(warehouse, "study_parts", *columns, plan_digest="other") == [(False, True)]
    warehouse.add(build_row(ReusedEpisodeRow, plan_digest="other", episode_id=teacher))
    assert ask(warehouse, "study_parts", *columns, plan_digest="other") == [(True, True)]


@pytest.fixture
def comparisons(warehouse):
    """Four comparisons of suites: one early, one late, one that failed and one that is under way."""
    for plan, ended, status in (("early", 1, "finished"), ("late", 2, "finished"), ("broken", 3, "failed")):
        warehouse.add(build_row(RunEndRow, run_id=plan, status=status, finished_at=NOW + timedelta(hours=ended)))
    for plan in ("early", "late", "broken", "open"):
        started = {"plan_json": "{}", "environment_json": "{}", "flow": "compare_arms"}
        warehouse.add(build_row(RunRow, run_id=plan, plan_digest=plan, **started))
        warehouse.add(build_row(CaveTurnRow, plan_digest=plan, episode_id=plan))
    return warehouse


@pytest.mark.parametrize(
    ("plan", "shown"), [("early", "early"), ("late", "late"), ("broken", "late"), ("study", "late")]
)
def test_suites_are_the_plans_or_those_that_finished_last(comparisons, plan, shown):
    study = {"plan_json": "{}", "environment_json": "{}", "flow": "reproduce_study"}
    comparisons.add(build_row(RunRow, run_id="study", plan_digest="study", **study))
    comparisons.add(build_row(RunEndRow, run_id="study", status="finished", finished_at=NOW + timedelta(hours=9)))
    assert ask(comparisons, "suite_turns", "episode_id", plan_digest=plan) == [(shown,)]


TURN = {
    "suite": "types", "tier": "simple", "case_id": "c", "question": 1, "arm": "json", "instruction": "none",
    "model_name": "m", "is_oracle": True, "replicate": 2, "size": 3, "reply_count": 4, "call_count": 5,
    "golden_call_count": 6, "prompt_tokens": 7, "completion_tokens": 8, "finish_reason": "answer",
    "is_state_right": True, "has_required_calls": False, "is_passed": False, "wrong_json": "[]", "state_json": "{}",
    "answer": "done", "episode_id": "e",
}  # fmt: skip


def test_a_turn_of_a_suite_has_its_own_columns(comparisons):
    comparisons.add(build_row(CaveTurnRow, plan_digest="late", **TURN))
    assert comparisons.sql(viewer_sql("suite_turns"), plan_digest="late")[-1] == TURN


METRIC = {
    "training_run_id": "a", "optimizer_step": 1, "loss": 0.5, "validation_loss": 0.25, "learning_rate": 0.125,
    "gradient_norm": 2.0, "token_accuracy": 0.75, "entropy": 3.0, "token_count": 4, "wall_seconds": 5.0,
}  # fmt: skip


def test_a_step_of_a_training_has_its_own_columns(warehouse):
    warehouse.add(build_row(TrainingMetricRow, **METRIC))
    assert warehouse.sql(viewer_sql("training_metrics"), training_run_ids=["a"]) == [METRIC]


def test_turns_of_suites_come_in_order(comparisons):
    places = [
        ("a", "x", "1", 1, "n", "m", "json", 0, 0),
        ("b", "a", "0", 0, "a", "a", "a", 0, 0),
        ("a", "y", "0", 0, "a", "a", "a", 0, 0),
        ("a", "x", "2", 0, "a", "a", "a", 0, 0),
        ("a", "x", "1", 2, "a", "a", "a", 0, 0),
        ("a", "x", "1", 1, "p", "a", "a", 0, 0),
        ("a", "x", "1", 1, "n", "p", "a", 0, 0),
        ("a", "x", "1", 1, "n", "m", "py", 0, 0),
        ("a", "x", "1", 1, "n", "m", "json", 1, 0),
        ("a", "x", "1", 1, "n", "m", "json", 0, 1),
    ]
    names = ("suite", "tier", "case_id", "question", "instruction", "model_name", "arm", "replicate", "attempt")
    for place in reversed(places):
        told = {"plan_digest": "late", "episode_id": " ".join(map(str, place))}
        comparisons.add(build_row(CaveTurnRow, **told, **dict(zip(names, place, strict=True))))
    found = ask(comparisons, "suite_turns", "episode_id", plan_digest="late")
    assert found == [("late",), *((" ".join(map(str, place)),) for place in sorted(places))]


def test_training_examples_are_counted_by_verdict(warehouse):
    for number in range(14):
        teacher = warehouse.episode("teacher->P", f"i{number}", episode_id=f"t{number:02d}")
        warehouse.example(teacher, "persistent", "retained", token_count=10 + number)
    rejected = {"reason": "score_too_low", "threshold": 0.5}
    for number, measured in enumerate((0.2, 0.4, 0.1)):
        teacher = warehouse.episode("teacher->P", f"r{number}", episode_id=f"r{number}")
        warehouse.example(teacher, "persistent", "skipped", measured=measured, **rejected)
    warehouse.example(warehouse.episode("teacher->S", episode_id="s"), "stateless", "retained", token_count=7)
    warehouse.example(warehouse.episode("teacher->S", "i2", plan_digest="other"), "stateless", "retained")
    columns = ("contract", "status", "reason", "episode_count", "token_count", "threshold", "measured_low")
    found = ask(warehouse, "training_examples", *columns, "measured_high", "episode_ids", plan_digest="plan")
    first_twelve = [f"t{number:02d}" for number in range(12)]
    assert found == [
        ("persistent", "retained", None, 14, 231, None, None, None, first_twelve),
        ("persistent", "skipped", "score_too_low", 3, None, 0.5, 0.1, 0.4, ["r0", "r1", "r2"]),
        ("stateless", "retained", None, 1, 7, None, None, None, ["s"]),
    ]


def test_trainings_are_those_on_the_plans_data_sets(warehouse):
    for plan, dataset in (("plan", "data"), ("plan", "data"), ("other", "others")):
        teacher = warehouse.episode("teacher->P", plan_digest=plan)
        warehouse.example(teacher, "persistent", "retained", dataset_id=dataset)
    places = [
        ("main", "common", "persistent", 1),
        ("main", "common", "persistent", 2),
        ("main", "common", "stateless", 0),
        ("main", "hub", "persistent", 0),
        ("no_faults", "common", "persistent", 0),
    ]
    for place in reversed(places):
        told = dict(zip(("variant", "base", "contract", "training_seed"), place, strict=True))
        warehouse.add(build_row(TrainingRunRow, training_run_id=str(place), dataset_id="data", **told))
    warehouse.add(build_row(TrainingRunRow, training_run_id="other", dataset_id="others"))
    found = ask(warehouse, "training_runs", "variant", "base", "contract", "training_seed", plan_digest="plan")
    assert found == places


def test_an_episode_stands_with_the_metrics_of_the_plan_that_played_it(warehouse):
    warehouse.run()
    warehouse.instance("i1", capacity=50)
    warehouse.instance("i1", capacity=70, split="train")
    told = {"finish_reason": "max_turns", "score": 0.5}
    missed = warehouse.episode("P->S", "i1", episode_id="b", **told)
    warehouse.error(missed, 1, "NameError: name 'ids' is not defined")
    warehouse.add(ReusedEpisodeRow(run_id="run", plan_digest="other", episode_id="b"))
    warehouse.episode("teacher->P", "i1", episode_id="a", split="train")
    warehouse.episode("P->P", "unknown", episode_id="c")
    warehouse.episode("P->P", "i1", episode_id="not asked for")
    columns = ("episode_id", "plan_name", "condition", "model", "failure_class", "missing_name_count", "capacity")
    assert ask(warehouse, "episode_heads", *columns, episode_ids=["c", "b", "a"]) == [
        ("a", "laptop", "teacher->P", "teacher", "silent_suboptimality", 0, 70),
        ("b", "laptop", "P->S", "sft", None, 1, 50),
        ("c", "laptop", "P->P", "sft", "silent_suboptimality", 0, None),
    ]


@pytest.fixture
def numbered(warehouse):
    """Instances of seeds 3, 1 and 2 of one bucket, and one of another; two that nobody landed."""
    for instance_id, seed, bucket in (("a", 3, "small"), ("b", 1, "small"), ("c", 2, "small"), ("d", 1, "large")):
        shown = {"instance_id": instance_id, "bucket": bucket, "split": "evaluation"}
        warehouse.add(build_row(InstanceRow, seed=seed, **shown))
    return warehouse


def test_instances_are_numbered_by_seed_and_unknown_ones_by_name(numbered):
    for instance_id in ("a", "b", "c", "x", "w"):
        numbered.episode("P->P", instance_id)
        numbered.episode("P->S", instance_id)
    numbered.episode("P->P", "d", bucket="large")
    numbered.episode("teacher->P", "y", split="evaluation")
    numbered.episode("P->P", "v", plan_digest="other")
    numbered.episode("P->P", "u", finish_reason="error")
    found = ask(numbered, "episodes", "purpose", "instance_id", "instance_number", "condition", plan_digest="plan")
    cells = ("P->P", "P->S")
    known = (("b", 1), ("w", 1), ("c", 2), ("x", 2), ("a", 3))
    assert found[0] == ("evaluation", "d", 1, "P->P")
    assert sorted(found[1:-1]) == sorted(("evaluation", *place, cell) for place in known for cell in cells)
    assert [number for _, _, number, _ in found[1:-1]] == [1, 1, 1, 1, 2, 2, 2, 2, 3, 3]
    assert found[-1] == ("teacher", "y", 1, "teacher->P")


def test_episodes_come_in_the_order_of_their_settings(warehouse):
    settings = [
        {"header": "none"},
        {},
        {"replicate": 1},
        {"training_seed": 1},
        {"instance_id": "i2"},
        {"visibility": "as_trained"},
        {"bucket": "z large"},
        {"base": "hub"},
        {"variant": "a variant"},
        {"variant": "b variant"},
    ]
    for number, values in reversed(list(enumerate(settings))):
        shown = {"header": "names", "instance_id": "i1", **values}
        for cell in ("S->P", "P->P"):
            warehouse.episode(cell, episode_id=f"{number} {cell}", **shown)
    found = [episode_id for (episode_id,) in ask(warehouse, "episodes", "episode_id", plan_digest="plan")]
    assert found == [f"{number} {cell}" for number in range(len(settings)) for cell in ("P->P", "S->P")]


def test_kinds_of_an_episodes_errors_are_told_in_words(warehouse):
    for number, kind in enumerate(("interpreter", "tool", "cap", "protocol", "model")):
        warehouse.error(warehouse.episode("P->P", f"i{number}"), 1, "words", kind)
    both = warehouse.episode("P->P", "i5")
    warehouse.error(both, 1, "words", "cap")
    warehouse.error(both, 1, "words", "tool")
    warehouse.episode("P->P", "i6")
    found = ask(warehouse, "episodes", "instance_id", "error_kinds", plan_digest="plan")
    assert [kinds for _, kinds in sorted(found)] == [
        "interpreter", "tool", "cap", "protocol", "model", "tool cap", None,
    ]  # fmt: skip


def test_a_cell_has_counts_means_and_the_wider_intervals(warehouse):
    for instance, tokens, score in (("i1", 900, 0.0), ("i2", 900, 0.5), ("i3", 4100, 1.0)):
        ended = {"finish_reason": "max_turns"} if instance == "i1" else {}
        episode = warehouse.episode("P->P", instance, score, prompt_tokens=tokens, completion_tokens=100, **ended)
        if instance == "i1":
            warehouse.error(episode, 1, "NameError: name 'ids' is not defined")
    warehouse.episode("P->P", "i4", 0.0, finish_reason="error")
    warehouse.episode("P->P", "i5", 0.0, plan_digest="other")
    for metric, low, high in (("score", 0.25, 0.75), ("total_tokens", 900, 3000), ("has_missing_name", 0.1, 0.6)):
        warehouse.statistic("mean", **MEAN, metric=metric, low=low, high=high)
        warehouse.statistic("mean", **MEAN, metric=metric, low=low + 0.1, high=high - 0.1, interval_kind="t over seeds")
    assert warehouse.sql(viewer_sql("cells"), plan_digest="plan") == [
        GROUP
        | OURS
        | {"purpose": "evaluation", "model": "sft", "condition": "P->P"}
        | {"train_contract": "persistent", "runtime_contract": "persistent"}
        | {"episode_count": 3, "ended_count": 2, "solved_count": 1, "missing_name_count": 1}
        | {"score_pct": 50.0, "mean_tokens": pytest.approx(6200 / 3), "missing_name_pct": pytest.approx(100 / 3)}
        | {"score_pct_low": 25.0, "score_pct_high": 75.0, "mean_tokens_low": 900.0, "mean_tokens_high": 3000.0}
        | {"missing_name_pct_low": 10.0, "missing_name_pct_high": 60.0}
    ]


def test_cells_come_in_the_order_of_their_settings(warehouse):
    settings = [
        {"base": "scratch", "header": "none"},
        {"base": "scratch"},
        {"base": "scratch", "visibility": "as_trained"},
        {"base": "scratch", "bucket": "z large"},
        {"base": "common"},
        {"base": "hub"},
        {"base": "a new base"},
        {"base": "new base"},
        {"base": "scratch", "variant": "a variant"},
    ]
    for values in reversed(settings):
        for cell in ("S->P", "P->P"):
            warehouse.episode(cell, **values)
    warehouse.episode("teacher->P")
    names = ("variant", "base", "bucket", "visibility", "header")
    plain = {"variant": "main", "bucket": "small", "visibility": "declared", "header": "names"}
    places = [tuple((plain | values)[name] for name in names) for values in settings]
    found = ask(warehouse, "cells", "condition", *names, plan_digest="plan")
    assert found[:-1] == [(cell, *place) for place in places for cell in ("P->P", "S->P")]
    assert found[-1][0] == "teacher->P"


def test_only_evaluated_cells_have_intervals(warehouse):
    warehouse.episode("teacher->P", base="common")
    warehouse.episode("base->P")
    warehouse.statistic("mean", train_a=None, runtime_a="persistent", low=0.25, high=0.5)
    found = ask(warehouse, "cells", "purpose", "score_pct_low", plan_digest="plan")
    assert found == [("evaluation", 25.0), ("teacher", None)]
