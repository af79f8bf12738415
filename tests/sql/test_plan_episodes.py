"""The episodes of a plan: those that it played, and those that it reuses from another."""

from carryover.tasks.traces.study_rows import ReusedEpisodeRow
from tests.sql.hand_made_warehouse import HandMade

COLUMNS = ("plan_digest", "episode_id", "playing_plan_digest")


def test_a_plan_has_what_it_played_and_what_it_reuses(warehouse: HandMade):
    warehouse.episode(plan_digest="second", episode_id="e3")
    warehouse.episode(plan_digest="first", episode_id="e2")
    warehouse.episode(plan_digest="first", episode_id="e1")
    warehouse.add(ReusedEpisodeRow(run_id="run", plan_digest="second", episode_id="e2"))
    rows = [tuple(row[column] for column in COLUMNS) for row in warehouse.sql("from staging.plan_episodes")]
    assert rows == [
        ("first", "e1", "first"),
        ("first", "e2", "first"),
        ("second", "e2", "first"),
        ("second", "e3", "second"),
    ]
