"""What an endpoint's answer is read as, and what is wrong with one."""

import json

import pytest

from carryover.tasks.agent.answer import BadAnswerError, read_answer
from carryover.tasks.agent.protocol import Completion, FunctionCall

USAGE = {"prompt_tokens": 11, "completion_tokens": 3}


def choice(content: object = "Hello.", reason: str | None = "stop", **message):
    return {"finish_reason": reason, "message": {"role": "assistant", "content": content, **message}}


def read(choices, usage=USAGE):
    return read_answer(json.dumps({"id": "a", "choices": choices, "usage": usage}).encode())


@pytest.mark.parametrize(
    ("details", "cached"), [({}, 0), (None, 0), ({"cached_tokens": 4}, 4), ({"cached_tokens": None}, 0)]
)
def test_an_answer_is_its_first_choice_with_what_it_cost(details, cached):
    usage = {**USAGE, "prompt_tokens_details": details}
    assert read([choice(), choice("Other.")], usage) == Completion("Hello.", "stop", 11, cached, 3, 0.0)


@pytest.mark.parametrize(
    ("said", "text", "reason"),
    [
        (choice("Hello.", None), "Hello.", "stop"),
        (choice(None, "length"), "", "length"),
        (choice("", "stop"), "", "stop"),
        (choice("a\ud800b"), "a?b", "stop"),
    ],
)
def test_what_an_answer_leaves_out_has_a_plain_value(said, text, reason):
    completion = read([said])
    assert (completion.text, completion.finish_reason) == (text, reason)


def test_calls_of_functions_are_read_with_their_arguments():
    calls = [{"id": name, "type": "function", "function": {"name": "look", "arguments": "{}"}} for name in ("a", "b")]
    completion = read([choice(None, None, tool_calls=calls)])
    assert completion.tool_calls == (FunctionCall("a", "look", "{}"), FunctionCall("b", "look", "{}"))
    assert (completion.text, completion.finish_reason) == ("", "stop")


TEXT = "Value error, Input should be a valid string"


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"<html>Sign in</html>", "with invalid JSON: '<html>Sign in</html>'"),
        (b"y" * 300, f"with invalid JSON: {'y' * 200!r}"),
        (b"\xff", "with invalid JSON: '\ufffd'"),
        (b"[]", "with no chat completion: []"),
        (b"{}", "without choices"),
    ],
)
def test_a_body_that_is_no_completion_is_told(body, told):
    with pytest.raises(BadAnswerError) as refused:
        read_answer(body)
    assert str(refused.value) == told


@pytest.mark.parametrize(
    ("choices", "usage", "told"),
    [
        ([], USAGE, "with a bad choices []: List should have at least 1 item after validation, not 0"),
        (None, USAGE, "with a bad choices null: Input should be a valid list"),
        ([{"message": None}], USAGE, "with a bad choices.0.message null: Input should be a valid dictionary"),
        ([{"finish_reason": "stop"}], USAGE, "without choices.0.message"),
        ([choice(["x"])], USAGE, f'with a bad choices.0.message.content ["x"]: {TEXT}'),
        ([choice(list(range(99)))], USAGE, f"with a bad choices.0.message.content {str([*range(99)])[:200]}: {TEXT}"),
        ([choice(None, None)], USAGE, "without finish_reason and without text"),
        ([choice("", None)], USAGE, "without finish_reason and without text"),
        ([choice()], None, "without usage"),
        ([choice()], {"prompt_tokens": 11}, "without usage.completion_tokens"),
        (
            [choice()],
            {**USAGE, "completion_tokens": None},
            "with a bad usage.completion_tokens null: Input should be a valid integer",
        ),
    ],
)
def test_a_completion_that_lacks_something_is_told(choices, usage, told):
    with pytest.raises(BadAnswerError) as refused:
        read(choices, usage)
    assert str(refused.value).startswith(told)
