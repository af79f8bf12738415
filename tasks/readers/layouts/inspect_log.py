"""Logs of Inspect: the samples of a `.json` log, or those in the zip of an `.eval` log, after the documented schema."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from carryover.tasks.readers.described import chat_trace
from carryover.tasks.readers.reader import Record
from carryover.tasks.readers.trace import Trace

LAYOUT = "an Inspect log"
JOINS_RECORDS = False
_ATTACHMENT = "attachment://"


def detect(record: Any) -> bool:
    """Tell whether a record is a log with samples, or one sample."""
    if not isinstance(record, Mapping):
        return False
    is_log = "eval" in record and isinstance(record.get("samples"), list)
    return is_log or ({"id", "epoch", "messages"} <= record.keys() and isinstance(record["messages"], list))


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Yield one trace per sample and epoch."""
    for record in records:
        content = record.content
        model = (content.get("eval") or {}).get("model")
        for sample in content.get("samples", [content]):
            messages = _with_attachments(sample["messages"], sample.get("attachments") or {})
            instance_id = str(sample["id"])
            usage = list((sample.get("model_usage") or {}).values())
            yield chat_trace(
                {},
                messages,
                record.name,
                trace_id=str(sample.get("uuid") or f"{instance_id}-{sample.get('epoch', 1)}"),
                instance_id=instance_id,
                model_name=model or (sample.get("output") or {}).get("model"),
                score=_score(sample.get("scores") or {}),
                finish_reason=_ending(sample),
                prompt_tokens=sum(each.get("input_tokens") or 0 for each in usage) if usage else None,
                completion_tokens=sum(each.get("output_tokens") or 0 for each in usage) if usage else None,
                columns={"replicate": max(int(sample.get("epoch") or 1) - 1, 0)},
            )


def _with_attachments(value: Any, attachments: Mapping[str, str]) -> Any:
    """Return messages with the texts that the log keeps apart."""
    if isinstance(value, str) and value.startswith(_ATTACHMENT):
        return attachments.get(value.removeprefix(_ATTACHMENT), value)
    if isinstance(value, list):
        return [_with_attachments(each, attachments) for each in value]
    if isinstance(value, Mapping):
        return {key: _with_attachments(each, attachments) for key, each in value.items()}
    return value


def _score(scores: Mapping[str, Any]) -> float | None:
    """Return the first score as a number; `C` is 1, `I` and `N` are 0, and `P` is a half, as in Inspect."""
    letters = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
    for score in scores.values():
        value = score.get("value") if isinstance(score, Mapping) else score
        if isinstance(value, int | float):
            return float(value)
        if value in letters:
            return letters[value]
    return None


def _ending(sample: Mapping[str, Any]) -> str | None:
    limit = (sample.get("limit") or {}).get("type")
    words = {
        "message": "max_turns",
        "turn": "max_turns",
        "token": "max_tokens",
        "time": "timeout",
        "working": "timeout",
    }
    return "error" if sample.get("error") else words.get(limit, limit)
