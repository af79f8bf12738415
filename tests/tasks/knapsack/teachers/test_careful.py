import json

import pytest

from carryover.tasks.agent.protocol import Message
from carryover.tasks.knapsack.teachers.small import write_small_reply

OPENING = [Message(role="system", content="Play."), Message(role="user", content="Go.")]


def after(contract, code, **observation):
    reply = Message(role="assistant", content=f"I play.\n```python\n{code}\n```")
    answer = Message(role="user", content=json.dumps(observation))
    return write_small_reply(contract, [*OPENING, reply, answer], seed=0, is_careful=True)


def test_stateless_teacher_copies_refused_classes_from_output():
    reply = after("stateless", "take_item(i)", output="more ['B', 'D'] {'item_ba12': (3, 4, 'B')}")
    assert "refused = ['B', 'D']\n" in reply


def test_the_persistent_teacher_keeps_them_in_a_name():
    reply = after("persistent", "grab(1)", output="more ['B', 'D']")
    assert "state = grab(1)\nprint(state, refused)" in reply
    assert "'B'" not in reply


@pytest.mark.parametrize("contract", ["persistent", "stateless"])
def test_a_repair_starts_from_what_was_last_printed(contract):
    turns = [*OPENING]
    for observation in ({"output": "more ['C']"}, {"output": "", "error": "NameError"}):
        turns += [Message(role="assistant", content="I play.\n```python\ngrab(1)\n```")]
        turns += [Message(role="user", content=json.dumps(observation))]
    assert "refused = ['C']\n" in write_small_reply(contract, turns, seed=0, is_careful=True)


def test_nothing_is_refused_before_anything_was_taken():
    assert "refused = []\n" in after("stateless", "part = 3", output="full {}")


def test_a_contract_without_a_teacher_is_refused_by_name():
    with pytest.raises(ValueError, match="'injected'; choose from persistent, stateless"):
        write_small_reply("injected", OPENING, seed=0, is_careful=True)
