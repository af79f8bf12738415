"""Logs of Inspect: samples of `.json` and `.eval` logs."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from carryover.tasks.readers.described import chat_trace
from carryover.tasks.readers.inspect_samples import (
    ending_of,
    score_of,
    tokens_of,
    with_attachments,
    without_refused,
)
from carryover.tasks.readers.reader import Record
from carryover.tasks.readers.trace import Trace

LAYOUT = "an Inspect log"
JOINS_RECORDS = False


def detect(record: Any) -> bool:
    """Tell whether a record is a log with samples, or one sample."""
    if not isinstance(record, Mapping):
        return False
    is_log = "eval" in record and isinstance(record.get("samples"), list)
    return is_log or ({"id", "epoch", "messages"} <= record.keys() and isinstance(record["messages"], list))


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Yield one trace per sample and epoch."""
    for record in records:
        model = (record.content.get("eval") or {}).get("model")
        for sample in record.content.get("samples", [record.content]):
            yield _trace(sample, record.name, model)


def _trace(sample: Mapping[str, Any], name: str, model: str | None) -> Trace:
    instance_id = str(sample["id"])
    epoch = int(sample.get("epoch") or 1)
    return chat_trace(
        {},
        without_refused(with_attachments(sample["messages"], sample.get("attachments") or {})),
        name,
        trace_id=str(sample.get("uuid") or f"{instance_id}-{epoch}"),
        instance_id=instance_id,
        model_name=model or (sample.get("output") or {}).get("model"),
        score=score_of(sample.get("scores") or {}),
        finish_reason=ending_of(sample),
        prompt_tokens=tokens_of(sample, "input_tokens"),
        completion_tokens=tokens_of(sample, "output_tokens"),
        columns={"replicate": epoch - 1},
    )
