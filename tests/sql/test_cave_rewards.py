"""The rewards of the suites' episodes: a reply is the one that a turn's reward belongs to."""

from carryover.tasks.analysis.queries import command_sql
from carryover.tasks.traces.result_rows import CaveTurnRow
from carryover.tasks.traces.rows import EpisodeRow, TurnRow
from tests.storage.conftest import build_row


def play(warehouse, episode_id, rewards, **values):
    """Add an episode of two replies a turn, its messages in reverse."""
    warehouse.add(build_row(EpisodeRow, episode_id=episode_id, agent="cave"))
    for turn in reversed(range(1 + 2 * len(rewards))):
        told = {"assistant_text": f"reply {turn}", "observation": f"seen {turn}"}
        warehouse.add(build_row(TurnRow, episode_id=episode_id, turn=turn, **told))
    for question, reward in reversed(list(enumerate(rewards, start=1))):
        place = {"episode_id": episode_id, "question": question, "first_reply": 2 * question - 1, "reply_count": 2}
        right = {"reward": reward, "is_state_right": reward > 0, "has_required_calls": reward > 0.5}
        warehouse.add(build_row(CaveTurnRow, **place, **right, **values))


def test_each_turn_has_the_reward_of_its_last_reply(warehouse):
    play(warehouse, "e", [1.0, 0.5], suite="types", tier="simple", case_id="c", arm="json", model_name="m", replicate=3)
    (row,) = warehouse.sql(command_sql("cave_rewards"))
    assert row["rewards"] == [
        {"question": 1, "last_reply": 2, "reward": 1.0, "components": {"state": 1.0, "calls": 1.0}},
        {"question": 2, "last_reply": 4, "reward": 0.5, "components": {"state": 1.0, "calls": 0.0}},
    ]
    assert row["opening"] == "seen 0"
    assert row["replies"] == [
        {"assistant_text": f"reply {turn}", "observation": f"seen {turn}"} for turn in (1, 2, 3, 4)
    ]
    columns = ("episode_id", "suite", "tier", "case_id", "arm", "model_name", "replicate", "agent", "contract_json")
    assert [row[column] for column in columns] == ["e", "types", "simple", "c", "json", "m", 3, "cave", "{}"]


def test_rewarded_episodes_come_by_case_arm_and_replicate(warehouse):
    places = [("a", "json", 1), ("a", "json", 2), ("a", "py", 0), ("b", "json", 0)]
    for number, (case_id, arm, replicate) in enumerate(places):
        play(warehouse, f"e{9 - number}", [1.0], case_id=case_id, arm=arm, replicate=replicate)
    rows = warehouse.sql(command_sql("cave_rewards"))
    assert [(row["case_id"], row["arm"], row["replicate"]) for row in rows] == places
