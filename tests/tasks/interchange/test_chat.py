import json

import pyarrow as pa
import pyarrow.parquet
import pytest

from carryover.tasks.interchange.chat import chat_record, write_chat_jsonl, write_chat_parquet
from carryover.tasks.readers.import_setting import ImportSetting
from carryover.tasks.readers.importing import import_traces
from carryover.tasks.readers.reading import read_traces
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
    for trace, rows in zip(traces, import_traces(tmp_path / name, SETTING), strict=True):
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


def test_the_readers_read_the_exports(played, tmp_path):
    write_chat_jsonl(played.traces(), tmp_path / "a.jsonl")
    assert {trace.declared_contract for trace in read_traces(tmp_path / "a.jsonl")} == {"persistent", "stateless"}


def test_code_of_a_tool_call_is_written_into_the_reply(played):
    trace = played.traces()[0]
    silent = tuple(turn.model_copy(update={"assistant_text": ""}) for turn in trace.turns)
    record = chat_record(trace._replace(turns=silent))
    replies = [message["content"] for message in record["messages"] if message["role"] == "assistant"]
    assert replies[0] == f"\n```python\n{trace.steps[0].code}\n```"
