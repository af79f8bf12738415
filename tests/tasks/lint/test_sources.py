import json

import pyarrow as pa
import pyarrow.parquet
import pytest

from carryover.tasks.lint.sources import read_traces, traces_of_rows
from carryover.tasks.lint.trace import CodeTrace, ExecutedBlock
from carryover.tasks.services.errors import UserError

CHAT = [
    {"role": "user", "content": "Count."},
    {"role": "assistant", "content": "First.\n```python\nx = 1\n```"},
    {"role": "user", "content": "ok"},
    {"role": "assistant", "content": "Nothing to run."},
]
REPLIES = ("First.\n```python\nx = 1\n```", "Nothing to run.")


def test_chat_jsonl(tmp_path):
    path = tmp_path / "chat.jsonl"
    records = [{"id": "a", "contract": "reset", "messages": CHAT}, {"messages": CHAT}]
    path.write_text("\n".join(map(json.dumps, records)) + "\n\n")
    assert list(read_traces(path, "persistent")) == [
        CodeTrace("a", "stateless", REPLIES, (ExecutedBlock("x = 1", "ok"),)),
        CodeTrace("chat-2", "persistent", REPLIES, (ExecutedBlock("x = 1", "ok"),)),
    ]


def test_contents_in_parts(tmp_path):
    path = tmp_path / "chat.jsonl"
    parts = [{"type": "text", "text": "```\nx = 1\n"}, {"type": "text", "text": "```"}]
    path.write_text(json.dumps({"messages": [{"role": "assistant", "content": parts}]}))
    (trace,) = read_traces(path)
    assert trace.blocks == (ExecutedBlock("x = 1"),)


def test_parquet_with_messages(tmp_path):
    path = tmp_path / "chat.parquet"
    pyarrow.parquet.write_table(pa.Table.from_pylist([{"episode_id": "a", "messages": CHAT}]), path)
    assert list(read_traces(path)) == [CodeTrace("a", None, REPLIES, (ExecutedBlock("x = 1", "ok"),))]


def test_the_authors_traces(tmp_path):
    data = {"assistant_text": REPLIES[0], "code": "x = 1", "interpreter_result": {"output": "ok"}}
    events = [{"type": "StartEvent", "data": {}}, {"type": "StepEvent", "data": data}]
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "knapsack-1.trace.json").write_text(json.dumps({"summary": {}, "events": events}))
    (tmp_path / "deep" / "knapsack-1.json").write_text("{}")
    blocks = (ExecutedBlock("x = 1", "ok"),)
    assert list(read_traces(tmp_path, "stateless")) == [CodeTrace("knapsack-1", "stateless", REPLIES[:1], blocks)]


@pytest.mark.parametrize("name", ["notes.txt", "result.json"])
def test_other_files_are_refused_by_name(tmp_path, name):
    (tmp_path / name).write_text("{}")
    with pytest.raises(UserError, match=f"cannot lint .*{name}; it must be"):
        list(read_traces(tmp_path / name))


def test_a_record_without_messages_is_named(tmp_path):
    path = tmp_path / "other.jsonl"
    path.write_text('{"prompt": "x"}')
    with pytest.raises(
        UserError, match=r"line 1 of .* has as `messages` \{'prompt': 'x'\}: Field required; correct it or leave it out"
    ):
        list(read_traces(path))


def test_text_that_is_not_json_is_shown(tmp_path):
    path = tmp_path / "other.jsonl"
    path.write_text("prompt,answer")
    with pytest.raises(UserError, match=r"is not JSON.*found b'prompt,answer'"):
        list(read_traces(path))


CALL = {"role": "assistant", "tool_calls": [{"id": "1"}]}


def test_a_message_without_content_says_nothing(tmp_path):
    path = tmp_path / "chat.jsonl"
    messages = [CALL, {"role": "tool", "content": ["1"]}, {"role": "assistant", "content": None}, *CHAT]
    path.write_text(json.dumps({"messages": messages}))
    (trace,) = read_traces(path)
    assert trace.replies == ("", "", *REPLIES)
    assert trace.blocks == (ExecutedBlock("x = 1", "ok"),)


@pytest.mark.parametrize(
    ("message", "codes", "unread_count"),
    [
        ({"content": "Go. <execute>x = 1</execute>"}, ["x = 1"], 0),
        ({"content": "<code>\nx = 1\n</code>"}, ["x = 1"], 0),
        ({"content": "~~~python\nx = 1\n~~~"}, ["x = 1"], 0),
        ({"content": "```json\n{}\n```\n```py\nx = 1\n```"}, ["x = 1"], 0),
        ({"tool_calls": [{"function": {"name": "run", "arguments": '{"code": "x = 1"}'}}]}, ["x = 1"], 0),
        ({"tool_calls": [{"function": {"name": "python", "arguments": "x = 1"}}]}, ["x = 1"], 0),
        ({"tool_calls": [{"name": "run", "arguments": {"code": "x = 1"}}, {"name": "run", "arguments": {"code": "x"}}]},
         ["x = 1", "x"], 0),
        ({"tool_calls": [{"function": {"name": "search", "arguments": '{"query": "x"}'}}]}, [], 1),
        ({"function_call": {"name": "python", "arguments": "x = 1"}}, ["x = 1"], 0),
        ({"content": [{"type": "text", "text": "Go."}, {"type": "tool_use", "name": "r", "input": {"code": "x = 1"}}]},
         ["x = 1"], 0),
        ({"content": [{"type": "tool_use", "name": "search", "input": {"query": "x"}}]}, [], 1),
        ({"function_call": "auto", "tool_calls": 3}, [], 2),
        ({"tool_calls": {"function": "python", "arguments": "x = 1"}}, ["x = 1"], 0),
        ({"content": "Inline `x = 1` only."}, [], 0),
    ],
)  # fmt: skip
def test_code_in_every_form_is_read_or_counted_as_unread(tmp_path, message, codes, unread_count):
    path = tmp_path / "chat.jsonl"
    path.write_text(json.dumps({"messages": [{"role": "assistant", **message}, {"role": "tool", "content": "1"}]}))
    (trace,) = read_traces(path)
    assert ([block.code for block in trace.blocks], trace.unread_count) == (codes, unread_count)
    assert {block.observation for block in trace.blocks} <= {"1"}


FOREIGN = {
    "strings.jsonl": (
        b'{"messages": ["hello"]}',
        "line 1 of .* has as `messages.0` 'hello': Input should be a valid dictionary",
    ),
    "number.jsonl": (
        b'\n{"messages": [{"role": "user", "content": 3}]}',
        "line 2 of .*number.jsonl has as `messages.0.content.str` 3: Input should be a valid string",
    ),
    "latin.jsonl": (b"\xff\xfe{}", "line 1 of .*latin.jsonl is not JSON in UTF-8: .* in position 0"),
    "a.trace.json": (
        b'{"steps": []}',
        "unsupported layout: .*a.trace.json differs from .* KeyError 'events'; leave it out",
    ),
    "b.trace.json": (b"[]", "unsupported layout: .*b.trace.json differs from .*TypeError"),
    "c.atif.json": (
        b'{"messages": []}',
        "unsupported layout: .*c.atif.json differs from an ATIF .* KeyError 'steps'; leave",
    ),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_an_unsupported_layout_is_refused_with_place_and_way_out(tmp_path, name):
    content, message = FOREIGN[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=message):
        list(read_traces(tmp_path / name))


def test_our_own_rows(traces):
    stateless = traces.trace("b", "stateless", steps=[traces.step(code=None, text="Hm."), traces.step("finish()")])
    tables = traces.record(traces.trace("a"), stateless)
    first, second = traces_of_rows(tables.episodes, tables.turns, tables.steps)
    assert (first.trace_id, first.declared_contract) == ("a", "persistent")
    assert [block.code for block in first.blocks] == ["look()", "finish()"]
    assert json.loads(first.blocks[0].observation)["observation"]["output"] == "1\n"
    assert (second.declared_contract, second.blocks) == ("stateless", (ExecutedBlock("finish()"),))
    assert second.replies == ("Hm.", "Thought 2.\n```python\nfinish()\n```")
