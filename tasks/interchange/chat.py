"""Chat data sets, a conversation per record: JSON lines and Parquet."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from carryover.tasks.interchange.recorded import RecordedTrace
from carryover.tasks.traces.rows import StepRow

_WORDS = ("episode_id", "instance_id", "contract", "shown_contract", "train_contract", "declaration", "model_name",
          "episode", "finish_reason")  # fmt: skip
_SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in _WORDS),
        ("score", pa.float64()),
        ("messages", pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))),
    ]
)


def chat_record(trace: RecordedTrace) -> dict[str, Any]:
    """Return an episode's conversation with its contract, to the last reply."""
    episode = trace.episode
    opening = [message.model_dump() for message in trace.opening]
    steps_of = trace.steps_by_turn()
    replies = (
        (_with_code(turn.assistant_text, steps_of.get(turn.turn, [])), turn.observation)
        for turn in trace.turns
        if turn.turn > 0
    )
    return {
        "episode_id": episode.episode_id,
        "instance_id": episode.instance_id,
        "contract": episode.runtime_contract,
        "shown_contract": episode.shown_contract,
        "train_contract": episode.train_contract,
        "declaration": episode.contract_json,
        "model_name": episode.model_name,
        "episode": json.dumps(trace.condition),
        "finish_reason": episode.finish_reason.value,
        "score": episode.score,
        "messages": conversation(opening, replies),
    }


def _with_code(text: str, steps: list[StepRow]) -> str:
    """Return a reply with its code, which an imported call lacks."""
    missing = [step.code for step in steps if step.code.strip() not in text]
    if missing:
        return "\n".join([text, *(f"```python\n{code}\n```" for code in missing)])
    return text


def conversation(opening: list[dict[str, Any]], replies: Iterable[tuple[str, str | None]]) -> list[dict[str, Any]]:
    """Return an episode's messages: opening, replies and observations."""
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
