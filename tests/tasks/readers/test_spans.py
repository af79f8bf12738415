"""One conversation from calls that each repeat the messages before them."""

import pytest

from carryover.tasks.readers.spans import join_turns


@pytest.mark.parametrize("role", ["assistant", "model", "AI"])
def test_an_answer_repeated_in_other_words_is_kept_once(role):
    question = {"role": "user", "content": "Count."}
    cut = {"role": role, "content": "<code>x = 1"}
    closed = {"role": role, "content": "<code>x = 1</code>"}
    output = {"role": "user", "content": "1"}
    done = {"role": role, "content": "Done."}
    turns = [([question], [cut]), ([question, closed, output], [done])]
    assert join_turns(turns) == [question, closed, output, done]
