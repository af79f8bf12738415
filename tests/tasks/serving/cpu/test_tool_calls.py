"""Tool calls: found in a reply's text, offered to the model, and answered by messages of their own."""

import json

import pytest

from carryover.tasks.serving.cpu.chat_request import ApiError, parse_request
from carryover.tasks.serving.cpu.tool_calls import read_tool_calls

TOOL = {"type": "function", "function": {"name": "add", "parameters": {"type": "object", "properties": {}}}}


def body(**fields):
    asked = {"model": "base", "messages": [{"role": "user", "content": "Add."}]}
    return json.dumps(asked | fields).encode()


def called(text):
    read = read_tool_calls(text)
    return read.content, [(call["function"]["name"], call["function"]["arguments"]) for call in read.tool_calls]


@pytest.mark.parametrize(
    ("text", "content", "calls"),
    [
        ("Plain.", "Plain.", []),
        ('<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>', None, [("add", '{"a": 1}')]),
        ('I add.\n<tool_call>{"name": "add"}</tool_call>', "I add.", [("add", "{}")]),
        ('<tool_call>{"name": "a"}</tool_call>\n<tool_call>{"name": "b"}', None, [("a", "{}"), ("b", "{}")]),
        ("<tool_call>{broken}</tool_call>", "<tool_call>{broken}</tool_call>", []),
        ('<tool_call>{"name": 3}</tool_call>', '<tool_call>{"name": 3}</tool_call>', []),
        ('<tool_call>{"name": "a", "arguments": 1}', '<tool_call>{"name": "a", "arguments": 1}', []),
    ],
)  # fmt: skip
def test_calls_are_read_out_of_a_reply(text, content, calls):
    assert called(text) == (content, calls)


def test_each_call_has_an_identifier_of_its_own():
    text = '<tool_call>{"name": "a"}</tool_call><tool_call>{"name": "a"}</tool_call>'
    first, second = read_tool_calls(text).tool_calls
    assert first["id"] != second["id"]


def test_tools_are_offered_unless_the_request_says_none():
    assert parse_request(body(tools=[TOOL])).offered == [TOOL]
    assert parse_request(body(tools=[TOOL], tool_choice="none")).offered == []


def test_a_sent_call_reaches_the_template_as_an_object():
    call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
    told = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "2"},
    ]
    forms = [message.template_form() for message in parse_request(body(messages=told)).messages]
    assert forms[0]["tool_calls"] == [{"type": "function", "function": {"name": "add", "arguments": {"a": 1}}}]
    assert forms[1] == {"role": "tool", "content": "2", "tool_call_id": "c1"}


def test_tools_are_not_streamed():
    with pytest.raises(ApiError, match="tool calls are not streamed; ask without stream"):
        parse_request(body(tools=[TOOL], stream=True))
