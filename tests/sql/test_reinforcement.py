"""The table of reinforcements: first and last updates, and the updates until names are kept."""

import pytest

from carryover.tasks.traces.study_rows import PlanStageRow
from carryover.tasks.traces.training_rows import PolicyUpdateRow

KEPT = {"name": "rl-other-scratch-persistent-1", "stage_digest": "abc"}


def update(number, missed, tokens):
    return PolicyUpdateRow(
        run_id="run", reinforcement_id="rl-other-scratch-persistent-1-abc", train_contract="persistent",
        runtime_contract="stateless", training_seed=1, policy_update=number, episode_count=32, missed_share=missed,
        unfinished_share=0, mean_score=0.5 + number / 10, mean_reward=0.4, mean_reply_count=10 - number,
        mean_completion_tokens=tokens / 2, mean_tokens=tokens, wall_seconds=1,
    )  # fmt: skip


@pytest.fixture
def reinforced(warehouse):
    warehouse.run()
    stage = PlanStageRow(run_id="run", plan_digest="plan", stage="reinforcement", result_json="{}", **KEPT)
    warehouse.add(stage, update(1, 1.0, 1500), update(2, 0.04, 1400), update(3, 0.06, 1300), update(4, 0.02, 1200))
    return warehouse


def test_a_training_has_its_first_and_last_updates(reinforced):
    assert reinforced.table("reinforcement") == [
        {
            "train_contract": "persistent",
            "runtime_contract": "stateless",
            "training_seed": 1,
            "update_count": 4,
            "updates_until_names_are_kept": 3,
            "played_episode_count": 128,
            "first_missed_pct": 100,
            "last_missed_pct": 2,
            "first_score_pct": pytest.approx(60),
            "last_score_pct": pytest.approx(90),
            "first_mean_reply_count": 9,
            "last_mean_reply_count": 6,
            "first_mean_tokens": 1500,
            "last_mean_tokens": 1200,
        }
    ]


def test_another_plans_training_is_not_in_the_table(reinforced):
    assert reinforced.table("reinforcement", plan_digest="other") == []
