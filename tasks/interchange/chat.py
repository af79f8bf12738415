"""Chat data sets, one conversation per record: JSON lines, and Parquet as Hugging Face `datasets` reads it."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
from pydantic import ValidationError

from carryover.tasks.agent.reply import parse_reply
from carryover.tasks.interchange.imported import ImportedRows, ImportedTrace, import_trace, read_opening, read_turn
from carryover.tasks.interchange.recorded import RecordedTrace
from carryover.tasks.interchange.setting import ImportSetting
from carryover.tasks.lint.chat_records import chat_records, refused_record, text_of
from carryover.tasks.lint.trace import chat_replies, contract_name
from carryover.tasks.services.syntax import calls_finish
from carryover.tasks.traces.vocabulary import FinishReason

_WORDS = ("episode_id", "instance_id", "contract", "shown_contract", "train_contract", "declaration", "model_name")
_SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in _WORDS),
        ("score", pa.float64()),
        ("messages", pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))),
    ]
)


def chat_record(trace: RecordedTrace) -> dict[str, Any]:
    """Return an episode as the conversation that took place, with its contract; the last reply ends it."""
    episode = trace.episode
    opening = [message.model_dump() for message in trace.opening]
    replies = ((turn.assistant_text, turn.observation) for turn in trace.turns if turn.turn > 0)
    return {
        "episode_id": episode.episode_id,
        "instance_id": episode.instance_id,
        "contract": episode.runtime_contract,
        "shown_contract": episode.shown_contract,
        "train_contract": episode.train_contract,
        "declaration": episode.contract_json,
        "model_name": episode.model_name,
        "score": episode.score,
        "messages": conversation(opening, replies),
    }


def conversation(opening: list[dict[str, Any]], replies: Iterable[tuple[str, str | None]]) -> list[dict[str, Any]]:
    """Return an episode's messages: the opening ones, then each reply with the observation that followed it, if any."""
    messages = list(opening)
    for text, observation in replies:
        messages.append({"role": "assistant", "content": text})
        if observation is not None:
            messages.append({"role": "user", "content": observation})
    return messages


def write_chat_jsonl(traces: Iterable[RecordedTrace], path: Path) -> int:
    """Write one conversation per line, in ASCII, and return their count."""
    count = 0
    with path.open("w", encoding="ascii", newline="\n") as file:
        for trace in traces:
            file.write(json.dumps(chat_record(trace)) + "\n")
            count += 1
    return count


def write_chat_parquet(traces: Iterable[RecordedTrace], path: Path) -> int:
    """Write one conversation per row and return their count."""
    table = pa.Table.from_pylist([chat_record(trace) for trace in traces], schema=_SCHEMA)
    pyarrow.parquet.write_table(table, path)
    return table.num_rows


def read_chat(path: Path, setting: ImportSetting) -> Iterator[ImportedRows]:
    """Yield the rows of a chat data set, `.jsonl` or `.parquet`.

    What ran is the source in a reply's first tool call, else its first fenced block. What it printed is taken from the
    messages before the next reply: from a JSON object with `output`, `result` and `error` (as the study's loop sends
    it), else their whole text.

    Raises:
        UserError: The file has another format, or a record is not a conversation with fields of the right types.
    """
    for number, (place, record) in enumerate(chat_records(path), start=1):
        try:
            rows = import_trace(chat_trace(record, f"{path.stem}-{number}"), setting)
        except ValidationError as error:
            raise refused_record(place, error) from error
        yield rows


def chat_trace(record: Mapping[str, Any], name: str) -> ImportedTrace:
    """Return one conversation as a trace; `name` is its instance if the record names none."""
    messages = record["messages"]
    turns = [
        read_turn(reply, next(iter(reply.called_codes), parse_reply(reply.text).code))
        for reply in chat_replies(messages)
    ]
    has_finished = bool(turns) and turns[-1].code is not None and calls_finish(turns[-1].code)
    contract = record.get("contract")
    return ImportedTrace(
        instance_id=str(record.get("instance_id") or name),
        opening=read_opening(((message["role"], text_of(message)) for message in messages), "assistant"),
        turns=tuple(turns),
        finish_reason=FinishReason.FINISH_TOOL if has_finished else FinishReason.MAX_TURNS,
        score=record.get("score"),
        is_solved=record.get("score") == 1.0,
        runtime_contract=contract_name(contract) if isinstance(contract, str) else None,
        train_contract=record.get("train_contract"),
    )
