"""The episodes that a night is judged by: each with a digest of every turn, in the order of the turns."""

from carryover.tasks.analysis.queries import command_sql
from carryover.tasks.traces.rows import TurnRow
from tests.storage.conftest import build_row


def play(warehouse, instance_id, replies):
    episode_id = warehouse.episode("P->P", instance_id)
    for turn, reply in reversed(list(enumerate(replies))):
        warehouse.add(build_row(TurnRow, episode_id=episode_id, turn=turn, assistant_text=reply))


def test_first_turns_of_equal_beginnings_have_equal_digests(warehouse):
    warehouse.run()
    play(warehouse, "i1", ["", "x = 1", "one end"])
    play(warehouse, "i2", ["", "x = 1", "another"])
    one, other = (row["turn_digests"] for row in warehouse.sql(command_sql("judged_episodes"), plan_digest="plan"))
    assert (one[:2], len(one)) == (other[:2], 3)
    assert one[2] != other[2]
