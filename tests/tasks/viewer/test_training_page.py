"""The page of trainings, over their rows."""

import pytest

from carryover.storage.warehouse.reader import Warehouse
from carryover.tasks.viewer.pages import answer
from tests.tasks.viewer.asking import MadeUp
from tests.tasks.viewer.viewer_home import make_viewer_home, training_rows


@pytest.fixture(scope="module")
def ask(tmp_path_factory):
    home = make_viewer_home(tmp_path_factory.mktemp("training"), more=training_rows())
    with Warehouse.open(home / "warehouse.duckdb") as warehouse:
        yield lambda query, **parameters: warehouse.sql(query, **parameters).arrow()


def test_curves_are_of_the_plan_s_trainings_in_order(ask):
    page = answer(ask, "plan", "training")
    assert [run["training_run_id"] for run in page["runs"]] == ["r"]
    assert page["curves"]["r"]["optimizer_step"] == [1, 2]
    assert page["curves"]["r"]["loss"] == [1.0, 0.5]


def test_examples_tell_why_they_were_rejected(ask):
    retained, skipped = answer(ask, "plan", "training")["examples"]
    assert (retained["status"], retained["episode_ids"], retained["token_count"]) == ("retained", ["pp1"], 10)
    assert (skipped["reason"], skipped["measured_low"], skipped["threshold"]) == ("score_too_low", 0.2, 0.5)
    assert skipped["episode_ids"] == ["pp2"]


def test_a_plan_with_trainings_has_a_page_of_them(ask):
    assert answer(ask, "plan", "study")["has_training"]


def test_a_curve_holds_the_metrics_of_its_training_in_order():
    metrics = [
        {"training_run_id": name, "optimizer_step": step, "loss": 1 / step}
        for name, step in (("a", 1), ("b", 1), ("a", 2))
    ]
    examples = [{"status": "retained"}]
    runs = [{"training_run_id": "a"}, {"training_run_id": "b"}]
    ask = MadeUp(training_runs=runs, training_metrics=metrics, training_examples=examples)
    assert answer(ask, "plan", "training") == {
        "runs": runs,
        "curves": {
            "a": {"optimizer_step": [1, 2], "loss": [1.0, 0.5]},
            "b": {"optimizer_step": [1], "loss": [1.0]},
        },
        "examples": examples,
    }
    plan = {"plan_digest": "plan"}
    assert ask.asked == [
        ("training_runs", plan),
        ("training_metrics", {"training_run_ids": ["a", "b"]}),
        ("training_examples", plan),
    ]


def test_a_plan_without_trainings_is_asked_for_no_metrics():
    ask = MadeUp(training_runs=[], training_examples=[])
    assert answer(ask, "plan", "training") == {"runs": [], "curves": {}, "examples": []}
