"""The page of trainings, over their rows."""

import pytest

from carryover.storage.warehouse.reader import Warehouse
from carryover.tasks.traces.training_rows import TrainingExampleRow, TrainingMetricRow, TrainingRunRow
from carryover.tasks.viewer.pages import answer
from tests.storage.conftest import build_row
from tests.tasks.viewer.viewer_home import make_viewer_home


@pytest.fixture(scope="module")
def ask(tmp_path_factory):
    example = {"dataset_id": "data", "variant": "main", "contract": "persistent"}
    rejected = {"status": "skipped", "reason": "score_too_low", "measured": 0.2, "threshold": 0.5}
    rows = [
        build_row(TrainingExampleRow, **example, episode_id="pp1", status="retained", token_count=10),
        build_row(TrainingExampleRow, **example, episode_id="pp2", **rejected),
        build_row(TrainingRunRow, training_run_id="r", dataset_id="data", final_loss=0.5, token_count=10),
        build_row(TrainingRunRow, training_run_id="other", dataset_id="other", final_loss=0.5, token_count=10),
        *(build_row(TrainingMetricRow, training_run_id="r", optimizer_step=s, loss=1 / s) for s in (2, 1)),
    ]
    home = make_viewer_home(tmp_path_factory.mktemp("training"), more=rows)
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
