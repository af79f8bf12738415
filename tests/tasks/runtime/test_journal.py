"""What an episode's journal keeps of a block."""

import hashlib
import json

import pytest

from carryover.tasks.runtime.engine import Block, CallInterruptedError
from carryover.tasks.runtime.journal import (
    BlockObservation,
    Ran,
    RecordedAnswers,
    ToolReply,
    changed_variables,
    request_text,
)
from carryover.tasks.runtime.objects import sealed
from carryover.tasks.runtime.transfer import Fetched


def ran(error, *replies):
    return Ran(Block(1, "0", "work()"), replies, BlockObservation("", None, error, (), None))


@pytest.mark.parametrize(
    ("error", "is_so"),
    [
        ("Traceback (most recent call last):\nStepTimeout: the step took more than 2 s", True),
        ("StepTimeout", True),
        ("Traceback (most recent call last):\nValueError: StepTimeout", False),
        (None, False),
    ],
)
def test_a_time_limit_ends_a_block_anywhere(error, is_so):
    assert ran(error).ended_anywhere is is_so


def test_a_block_stopped_in_a_tool_call_ends_there_again():
    stopped = ToolReply("[]", ("error", "StepTimeout", "stopped"))
    assert not ran("StepTimeout: stopped", stopped).ended_anywhere
    assert ran("StepTimeout: too long", ToolReply("[]", ("error", "ValueError", "bad"))).ended_anywhere


def test_arguments_beyond_json_are_compared_by_their_digest():
    content = b"a frame"
    text = request_text("plot", [], {}, Fetched(sealed(content), ()))
    assert json.loads(text) == ["plot", hashlib.sha256(content).hexdigest()]
    assert json.loads(request_text("plot", [1], {"wide": True})) == ["plot", [1], {"wide": True}]


def test_differences_of_a_repeated_block_are_named_with_both_values():
    observed = BlockObservation("a", None, None, (), "h")
    first = Ran(Block(3, "0", "work()"), (ToolReply("[1]", ("value", "1")),), observed)
    assert first.differences(observed, ["[1]"]) == []
    found = first.differences(BlockObservation("b", None, None, ("x",), "h"), ["[1]", "[2]"])
    assert [tuple(each) for each in found] == [
        (3, "output", "'a'", "'b'"),
        (3, "names", "()", "('x',)"),
        (3, "tool_calls", "[[1]]", "[[1], [2]]"),
    ]


def test_variables_of_another_digest_are_named():
    recorded = {"same": "1", "other": "2", "gone": "3"}
    found = changed_variables(4, recorded, {"same": "1", "other": "5", "new": "6"})
    assert [tuple(each) for each in found] == [
        (4, "variable gone", "3", "absent"),
        (4, "variable new", "absent", "6"),
        (4, "variable other", "2", "5"),
    ]
    assert changed_variables(4, {}, {"new": "6"}) == ()  # no process had answered


def test_recorded_replies_answer_the_same_calls_in_order():
    replies = (
        ToolReply(request_text("read", ["a"], {}), ("value", "[1]")),
        ToolReply(request_text("read", ["b"], {"wide": True}), ("error", "ValueError", "bad", 0)),
        ToolReply(request_text("wait", [], {}), ("error", "StepTimeout", "stopped")),
    )
    answers = RecordedAnswers(replies)
    assert answers("read", ["a"], {}) == ("value", [1])
    assert answers("read", ["b"], {"wide": True}) == ("error", "ValueError", "bad", 0)
    with pytest.raises(CallInterruptedError):
        answers("wait", [], {})
    assert answers.asked == [reply.request for reply in replies]


def test_another_call_than_recorded_ends_the_replies():
    refusal = ("error", "ToolRuntimeException", "read: no such call was recorded here", 0)
    one = ToolReply(request_text("read", ["a"], {}), ("value", "[1]"))
    answers = RecordedAnswers((one, one))
    assert answers("read", ["b"], {}) == refusal
    assert answers("read", ["a"], {}) == refusal  # nothing follows a difference
    assert answers("read", ["c"], {}) == refusal
    assert answers("read", ["d"], {}) == refusal
    assert answers.asked == [request_text("read", [name], {}) for name in "bac"]  # one more than recorded
