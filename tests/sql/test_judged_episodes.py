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


def test_a_transcripts_digest_tells_every_reply_in_its_order_and_its_tokens(warehouse):
    warehouse.run()
    play(warehouse, "i1", ["", "x = 1", "y = 1"])
    play(warehouse, "i2", ["", "x = 1", "y = 1"])
    play(warehouse, "i3", ["", "y = 1", "x = 1"])
    longer = warehouse.episode("P->P", "i4")
    for turn, reply in enumerate(["", "x = 1", "y = 1"]):
        warehouse.add(build_row(TurnRow, episode_id=longer, turn=turn, assistant_text=reply, prompt_tokens=turn))
    dearer = warehouse.episode("P->P", "i5")
    for turn, reply in enumerate(["", "x = 1", "y = 1"]):
        warehouse.add(build_row(TurnRow, episode_id=dearer, turn=turn, assistant_text=reply, completion_tokens=turn))
    digests = [row["transcript_digest"] for row in warehouse.sql(command_sql("judged_episodes"), plan_digest="plan")]
    assert digests[0] == digests[1]
    assert len(set(digests)) == 4
