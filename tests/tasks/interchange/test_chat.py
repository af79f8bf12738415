import json

import pyarrow as pa
import pyarrow.parquet
import pytest

from carryover.tasks.interchange.chat import chat_record, chat_trace, read_chat, write_chat_jsonl, write_chat_parquet
from carryover.tasks.interchange.imported import import_trace
from carryover.tasks.interchange.setting import ImportSetting
from carryover.tasks.lint.sources import read_traces
from carryover.tasks.services.errors import UserError
from carryover.tasks.traces.vocabulary import FinishReason

SETTING = ImportSetting(run_id="import", runtime_contract="persistent")


def test_a_record_is_the_conversation_with_its_contract(played):
    trace = next(trace for trace in played.traces() if trace.episode.runtime_contract == "stateless")
    record = chat_record(trace)
    assert (record["contract"], record["shown_contract"], record["train_contract"]) == ("stateless", "stateless", None)
    assert json.loads(record["declaration"])["contract"]["lifetime"] == "block"
    roles = [message["role"] for message in record["messages"]]
    assert roles == ["system"] * 4 + ["user", "assistant"] * trace.episode.turn_count


@pytest.mark.parametrize(("write", "name"), [(write_chat_jsonl, "a.jsonl"), (write_chat_parquet, "a.parquet")])
def test_what_is_exported_comes_back(played, tmp_path, write, name):
    traces = played.traces()
    assert write(traces, tmp_path / name) == 4
    for trace, rows in zip(traces, read_chat(tmp_path / name, SETTING), strict=True):
        same = ("runtime_contract", "instance_id", "score", "is_solved", "turn_count", "step_count", "call_site_count")
        assert [getattr(rows.episode, field) for field in same] == [getattr(trace.episode, field) for field in same]
        assert rows.episode.finish_reason is FinishReason.FINISH_TOOL
        assert [(turn.assistant_text, turn.observation) for turn in rows.turns[1:]] == [
            (turn.assistant_text, turn.observation) for turn in trace.turns[1:]
        ]
        # what the last block printed was told to nobody
        assert [(step.code, step.output, step.error) for step in rows.steps[:-1]] == [
            (step.code, step.output, step.error) for step in trace.steps[:-1]
        ]


def test_exports_are_equal_for_equal_rows(played, tmp_path):
    for number in range(2):
        write_chat_jsonl(played.traces(), tmp_path / f"{number}.jsonl")
        write_chat_parquet(played.traces(), tmp_path / f"{number}.parquet")
    for kind in ("jsonl", "parquet"):
        assert (tmp_path / f"0.{kind}").read_bytes() == (tmp_path / f"1.{kind}").read_bytes()


def test_the_messages_column_is_the_one_of_hugging_face(played, tmp_path):
    write_chat_parquet(played.traces(), tmp_path / "a.parquet")
    message = pa.struct([("role", pa.string()), ("content", pa.string())])
    assert pyarrow.parquet.read_schema(tmp_path / "a.parquet").field("messages").type.value_type == message


def test_the_lint_reads_the_exports(played, tmp_path):
    write_chat_jsonl(played.traces(), tmp_path / "a.jsonl")
    assert {trace.declared_contract for trace in read_traces(tmp_path / "a.jsonl")} == {"persistent", "stateless"}


def headed(names):
    """Return a message as the study's loop sends it after a block."""
    header = {"runtime": "persistent", "active_globals": [], "last_step_globals": names}
    return {"role": "user", "content": json.dumps({"observation": {"output": ""}, "runtime_state": header})}


REUSING = [
    {"role": "assistant", "content": "```\nids = [1]\n```"},
    headed(["ids"]),
    {"role": "assistant", "content": "```\nids += [2]\n```"},
    headed(["ids", "best"]),
    {"role": "assistant", "content": "```\nprint(ids)\n```"},
]


def test_names_that_a_conversation_lists_are_kept_and_others_unknown():
    bare = [message if message["role"] == "assistant" else {"role": "user", "content": "1"} for message in REUSING]
    for contract, messages, names, events in (
        ("persistent", REUSING, [(), ("ids",), ("ids", "best")], ["kept", "kept", "unknown"]),
        ("stateless", REUSING, [(), (), ()], ["kept", "kept", "kept"]),
        ("persistent", bare, [(), (), ()], ["unknown", "unknown", "unknown"]),
    ):
        rows = import_trace(chat_trace({"contract": contract, "messages": messages}, "chat-1"), SETTING)
        assert [step.active_globals_before for step in rows.steps] == names
        assert [step.state_event for step in rows.steps] == events
        live = [event.is_live_before for event in rows.name_events if event.step == 2 and event.kind == "bind"]
        assert live == ["ids" in names[1]]


def test_an_imported_id_ignores_ending_and_listed_names():
    def imported_id(**changes):
        return import_trace(chat_trace({"messages": REUSING} | changes, "chat-1"), SETTING).episode.episode_id

    assert imported_id(finish_reason="error") == imported_id()
    assert imported_id(messages=[REUSING[0], headed([]), *REUSING[2:]]) == imported_id()
    assert imported_id(messages=REUSING[2:]) != imported_id()


def test_names_of_our_own_exports_come_back(played):
    for trace in played.traces():
        rows = import_trace(chat_trace(chat_record(trace), "chat-1"), SETTING)
        assert [step.active_globals_before for step in rows.steps] == [s.active_globals_before for s in trace.steps]


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (
            {"score": "0.5x", "messages": REUSING},
            r"line 1 of .*a.jsonl has as `score` '0.5x': Input should be .* leave",
        ),
        ({"messages": ["hello"]}, r"line 1 of .*a.jsonl has as `messages.0` 'hello': Input should"),
        ({"train_contract": 3, "messages": REUSING}, r"line 1 of .*a.jsonl has as `train_contract` 3"),
    ],
)
def test_an_invalid_record_is_named_with_its_place(tmp_path, record, message):
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(record))
    with pytest.raises(UserError, match=message):
        list(read_chat(path, SETTING))


def test_a_tool_call_without_content_is_a_reply_without_block():
    call = {"role": "assistant", "tool_calls": [{"id": "1"}]}
    trace = chat_trace({"messages": [call, {"role": "tool", "content": [{"type": "text", "text": "1"}]}]}, "chat-1")
    assert [(turn.assistant_text, turn.code, turn.output) for turn in trace.turns] == [("", None, "1")]


def test_a_foreign_conversation_shows_its_outputs_as_it_can():
    trace = chat_trace(
        {
            "contract": "reset",
            "messages": [
                {"role": "user", "content": "Count."},
                {"role": "assistant", "content": "```\nprint(1)\n```"},
                {"role": "tool", "content": "1"},
                {"role": "assistant", "content": "```\nx\n```"},
                {"role": "user", "content": '{"output": "", "error": "NameError: x"}'},
                {"role": "assistant", "content": "Done."},
            ],
        },
        "chat-1",
    )
    assert (trace.instance_id, trace.runtime_contract) == ("chat-1", "stateless")
    assert trace.finish_reason is FinishReason.MAX_TURNS
    assert [(turn.code, turn.output, turn.error) for turn in trace.turns] == [
        ("print(1)", "1", None),
        ("x", "", "NameError: x"),
        (None, "", None),
    ]


def test_a_tool_call_is_read_with_all_its_answers():
    call = {"function": {"name": "python", "arguments": '{"code": "n = 1"}'}}
    messages = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "one "},
        {"role": "tool", "content": "two"},
    ]
    (turn,) = chat_trace({"messages": messages}, "a").turns
    assert (turn.code, turn.output, turn.observation) == ("n = 1", "one two", "one two")
