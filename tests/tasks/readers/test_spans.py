"""One conversation from calls that each repeat the messages before them."""

import json

import pytest

from carryover.tasks.readers.gen_ai import conversation_of
from carryover.tasks.readers.spans import (
    attributes_of,
    call_messages,
    flattened_messages,
    held_under,
    join_turns,
    with_code,
    with_details,
)


@pytest.mark.parametrize("role", ["assistant", "model", "AI"])
def test_an_answer_repeated_in_other_words_is_kept_once(role):
    question = {"role": "user", "content": "Count."}
    cut = {"role": role, "content": "<code>x = 1"}
    closed = {"role": role, "content": "<code>x = 1</code>"}
    output = {"role": "user", "content": "1"}
    done = {"role": role, "content": "Done."}
    turns = [([question], [cut]), ([question, closed, output], [done])]
    assert join_turns(turns) == [question, closed, output, done]


MESSAGE = {"role": "user", "content": "Count."}
TYPED = [
    {"key": "text", "value": {"stringValue": "a"}},
    {"key": "list", "value": {"arrayValue": {"values": [{"intValue": "1"}, {"stringValue": "b"}]}}},
    {"key": "empty list", "value": {"arrayValue": {}}},
    {"key": "map", "value": {"kvlistValue": {"values": [{"key": "x", "value": {"boolValue": True}}]}}},
    {"key": "bare", "value": 3},
    {"key": "nothing", "value": {}},
    "no attribute",
    {"value": 1},
]


@pytest.mark.parametrize(
    ("span", "attributes"),
    [
        ({"attributes": {"a": {"b": 1, "c": {"d": 2}}, "e": [1]}}, {"a.b": 1, "a.c.d": 2, "e": [1]}),
        ({"span_attributes": {"a": 1}}, {"a": 1}),
        (
            {"attributes": {"llm": {"tags": ["a"], "list": [{"b": 1}, {"b": 2}], "none": []}, "other": [{"c": 1}]}},
            {"llm.tags": ["a"], "llm.list.0.b": 1, "llm.list.1.b": 2, "llm.none": [], "other": [{"c": 1}]},
        ),
        ({"attributes": '{"a": {"b": 1}}'}, {"a.b": 1}),
        ({"attributes.a": 1, "b": 2}, {"a": 1, "b": 2}),
        (
            {"attributes": TYPED},
            {"text": "a", "list": ["1", "b"], "empty list": [], "map": {"x": True}, "bare": 3, "nothing": None},
        ),
    ],
)
def test_attributes_of_every_form_are_flat(span, attributes):
    assert attributes_of(span) == attributes


def test_messages_are_read_from_flat_attributes():
    beginning = "llm.input_messages"
    flat = {
        f"{beginning}.1.message.role": "assistant",
        f"{beginning}.1.message.tool_calls.1.tool_call.function.name": "second",
        f"{beginning}.1.message.tool_calls.0.tool_call.function.name": "first",
        f"{beginning}.1.message.tool_calls.0.tool_call.id": "c0",
        f"{beginning}.0.message.role": "user",
        f"{beginning}.0.message.contents.0.message_content.text": "a",
        f"{beginning}.0.message.contents.1.message_content.text": "b",
        f"{beginning}.2.message.tool_call_id": "c0",
        f"{beginning}.2.message.content": "done",
        f"{beginning}.rest": "left out",
        "llm.output_messages.0.message.role": "assistant",
    }
    assert flattened_messages(flat, beginning) == [
        {"role": "user", "content": "ab"},
        {"role": "assistant", "content": "", "tool_calls": [{"name": "first", "id": "c0"}, {"name": "second"}]},
        {"role": "", "content": "done", "tool_call_id": "c0"},
    ]


def test_an_object_is_found_under_its_flat_fields():
    attributes = {"call.id": "1", "call.input.code": "x", "other": 2, "empty": None}
    assert held_under(attributes, "call") == {"id": "1", "input.code": "x"}
    assert held_under(attributes, "other") == 2
    assert held_under(attributes, "missing") is None


def test_messages_are_in_the_order_of_their_numbers():
    flat = {f"llm.input_messages.{number}.message.content": str(number) for number in (10, 2, 0)}
    assert [message["content"] for message in flattened_messages(flat, "llm.input_messages")] == ["0", "2", "10"]


def test_a_tool_without_a_result_is_a_call_alone():
    assert call_messages("python", {"code": "x"}, None, "c") == [
        {"role": "assistant", "content": "", "tool_calls": [{"name": "python", "arguments": {"code": "x"}, "id": "c"}]}
    ]
    *_, answer = call_messages("python", {}, "out", "c")
    assert answer == {"role": "tool", "tool_call_id": "c", "content": "out"}


def test_details_stand_in_an_event_of_the_span():
    details = {"name": "gen_ai.client.inference.operation.details", "attributes": {"a": 1}}
    span = {"attributes": {"b": 2}, "events": [details, {"name": "other", "attributes": {"c": 3}}]}
    assert with_details(span) == {"a": 1, "b": 2}
    assert with_details({"attributes": {"b": 2}, "events": None}) == {"b": 2}


def test_executed_tools_count_where_the_conversation_shows_no_code():
    spoken = [{"role": "assistant", "content": "I think."}]
    executed = call_messages("python", {"code": "x = 1"}, "")
    assert with_code(spoken, executed) == executed
    assert with_code(spoken, []) == spoken
    coded = [{"role": "assistant", "content": "```python\nx = 2\n```"}]
    assert with_code(coded, executed) == coded


def test_fresh_messages_of_each_call_are_added_once():
    answer = {"role": "assistant", "content": "Two."}
    more = {"role": "user", "content": "And then?"}
    turns = [([MESSAGE], [answer]), ([MESSAGE, answer, more], [{"role": "assistant", "content": "Three."}])]
    assert [message["content"] for message in join_turns(turns)] == ["Count.", "Two.", "And then?", "Three."]
    assert join_turns([([], [answer]), ([more], [])]) == [answer, more]
    other = {"role": "assistant", "content": "Another."}
    assert join_turns([([], [answer]), ([other], [])]) == [answer, other]


@pytest.mark.parametrize("given", [{}, {"gen_ai.input.messages": "null"}, {"gen_ai.input.messages": None}])
def test_a_reply_without_recorded_input_is_read(given):
    reply = {"role": "assistant", "parts": [{"type": "text", "content": "Hi."}]}
    (message,) = conversation_of([{**given, "gen_ai.output.messages": json.dumps([reply])}])
    assert message["role"] == "assistant"
