"""The key of each table: rows of one key are one row, of which the first or the latest stays."""

import pytest

from carryover.tasks.traces.tables import TABLES

FIRST_STAYS = {
    "runs": ("run_id",),
    "run_ends": ("run_id",),
    "reused_episodes": ("plan_digest", "episode_id"),
    "instances": ("instance_id", "split"),
    "items": ("instance_id", "item_id"),
    "trace_verdicts": ("validation_digest", "episode_id"),
    "training_examples": ("dataset_id", "episode_id"),
    "training_overlaps": ("dataset_id", "contract", "other_contract"),
    "check_results": ("check_run_id", "check_name"),
    "night_verdicts": ("run_id", "base", "model_name", "runtime_contract", "visibility", "header", "bucket"),
    "cave_turns": ("episode_id", "question"),
    "episodes": ("episode_id",),
    "turns": ("episode_id", "turn"),
    "steps": ("episode_id", "step"),
    "name_events": ("episode_id", "step", "sequence"),
    "tool_calls": ("episode_id", "step", "call"),
    "errors": ("episode_id", "turn", "error_index"),
    "runtime_events": ("episode_id", "sequence"),
}
LATEST_STAYS = {
    "plan_stages": ("plan_digest", "stage", "name"),
    "training_runs": ("training_run_id",),
    "policy_updates": ("reinforcement_id", "policy_update"),
    "training_metrics": ("training_run_id", "optimizer_step"),
    "statistics": ("statistic_id",),
    "claims": ("paper", "claim", "place"),
}


@pytest.mark.parametrize(("keys", "latest_wins"), [(FIRST_STAYS, False), (LATEST_STAYS, True)])
def test_each_table_has_its_key_and_winner(keys, latest_wins):
    assert {name: TABLES[name].KEY for name in keys} == keys
    assert {TABLES[name].LATEST_WINS for name in keys} == {latest_wins}
