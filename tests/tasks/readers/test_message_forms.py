"""Single messages, events, items and parts of others' layouts, each as the messages or parts that it is."""

import json
from itertools import chain

import pytest

from carryover.tasks.readers.gemini_parts import has_parts, messages_of_contents
from carryover.tasks.readers.gen_ai import conversation_of
from carryover.tasks.readers.inspect_samples import ending_of, tokens_of, with_attachments, without_refused
from carryover.tasks.readers.message_parts import parts_of, unread_parts
from carryover.tasks.readers.openhands_events import messages_of_events
from carryover.tasks.readers.responses_items import messages_of_items
from tests.tasks.readers.whole_traces import MADE_UP

EXPECTED = json.loads((MADE_UP / "message_forms.json").read_text(encoding="utf-8"))
READ = {
    "gemini": messages_of_contents,
    "openhands": messages_of_events,
    "responses": messages_of_items,
    "parts": lambda parts: parts_of({"content": parts}),
}


@pytest.mark.parametrize("form", READ)
def test_each_form_is_read_whole(form):
    given = [each for each, _ in EXPECTED[form]]
    expected = [messages for _, messages in EXPECTED[form]]
    assert [list(READ[form]([each])) for each in given] == expected
    assert list(READ[form](given)) == list(chain.from_iterable(expected))


@pytest.mark.parametrize(
    ("content", "is_content"),
    [
        ({"parts": [{"text": "a"}]}, True),
        ({"parts": [{"other": 1}, {"executable_code": {"code": ""}}]}, True),
        ({"parts": ["a", {"type": "text", "text": "a"}]}, False),
        ({"parts": [{"functionCall": {}}]}, False),
        ({"parts": "text"}, False),
        ({"parts": []}, False),
        ({}, False),
        ("parts", False),
        (None, False),
    ],
)
def test_a_content_of_gemini_is_told_by_its_parts(content, is_content):
    assert has_parts(content) is is_content


def test_parts_stand_under_either_name_and_a_text_has_none():
    assert parts_of({"content": "a", "parts": ["b"]}) == parts_of({"content": ["b"], "parts": ["c"]}) == ["b"]
    assert parts_of({"content": "a"}) == parts_of({"parts": "a"}) == []


def test_a_part_with_arguments_of_a_call_is_unread_where_its_type_is_unknown():
    known = ("tool_use", "server_x", "mcp_y", "code_execution_z", "text", "image", "thinking", "reasoning", "document",
             "file")  # fmt: skip
    parts = [{"type": kind, "input": 1} for kind in known]
    assert unread_parts([*parts, "a", {"type": "new", "other": 1}]) == ()
    unknown = [{"type": "new", key: 1} for key in ("input", "arguments", "args", "code")]
    assert unread_parts([*unknown, {"input": 1}]) == (*["a part of type new"] * 4, "a part of type None")


def test_executed_tools_of_spans_are_calls_and_results():
    named = {"gen_ai.tool.name": "python", "gen_ai.tool.call.arguments": "x", "gen_ai.tool.call.result": "1"}
    fields = {"gen_ai.tool.name": "run", "gen_ai.tool.call.arguments.code": "y", "gen_ai.tool.call.id": 7}
    assert conversation_of([{"other": 1}, named, fields]) == [
        {"role": "assistant", "content": "", "tool_calls": [{"name": "python", "arguments": "x", "id": ""}]},
        {"role": "tool", "tool_call_id": "", "content": "1"},
        {"role": "assistant", "content": "", "tool_calls": [{"name": "run", "arguments": {"code": "y"}, "id": "7"}]},
    ]


def test_flattened_spans_are_messages():
    span = {
        "gen_ai.prompt.0.role": "user",
        "gen_ai.prompt.0.content": "Count.",
        "gen_ai.completion.0.content": "So.",
        "gen_ai.completion.0.role": "model",
    }
    assert conversation_of([span]) == [{"role": "user", "content": "Count."}, {"role": "assistant", "content": "So."}]


def test_texts_that_a_log_keeps_apart_are_put_back():
    message = {"content": "attachment://k", "number": 1, "list": ["attachment://missing", "plain"]}
    put_back = {"content": "long", "number": 1, "list": ["attachment://missing", "plain"]}
    assert with_attachments([message], {"k": "long"}) == [put_back]


def test_a_call_that_inspect_refused_holds_no_code():
    def called(*names, **refused):
        calls = [{"id": name, "function": refused.get(name, "python")} for name in names]
        return {"role": "assistant", "tool_calls": calls}

    def answered(name, error=None):
        return {"role": "tool", "tool_call_id": name, "error": error and {"type": error}}

    answers = [answered("a", "parsing"), answered("b"), answered("c", "approval"), answered("d", "timeout")]
    silent = {"role": "assistant", "tool_calls": None}
    assert without_refused([called("a", "b"), called("c"), called("d"), silent, *answers]) == [
        called("a", "b", a="refused call"),
        called("c", c="refused call"),
        called("d"),
        silent,
        *answers,
    ]


@pytest.mark.parametrize(
    ("sample", "ending"),
    [
        ({}, None),
        ({"limit": None}, None),
        ({"error": {"message": "m"}, "limit": {"type": "time"}}, "error"),
        *(({"limit": {"type": limit}}, "max_turns") for limit in ("message", "turn")),
        *(({"limit": {"type": limit}}, "timeout") for limit in ("time", "working")),
        ({"limit": {"type": "token"}}, "max_tokens"),
        ({"limit": {"type": "operator"}}, "operator"),
    ],
)
def test_a_sample_of_inspect_says_how_it_ended(sample, ending):
    assert ending_of(sample) == ending


def test_tokens_of_a_sample_are_summed_over_models():
    usage = {"a": {"input_tokens": 3}, "b": {"input_tokens": None}, "c": {"input_tokens": 4, "output_tokens": 1}}
    assert tokens_of({"model_usage": usage}, "input_tokens") == 7
    assert tokens_of({"model_usage": {}}, "input_tokens") is tokens_of({}, "input_tokens") is None
