"""Traces as arXiv 2603.01209's repository writes them (mrcabbage972/agents-learn-runtime at 5ba1133)."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from carryover.tasks.readers.authors_events import replies_of_events
from carryover.tasks.readers.authors_result import ENDING, columns_of, read_result, seconds_of, task_id_of, time_of
from carryover.tasks.readers.reader import Record
from carryover.tasks.readers.trace import InstanceDescription, OpeningMessage, Trace, known_contract

LAYOUT = "the repository of arXiv 2603.01209"
JOINS_RECORDS = False


def detect(record: Any) -> bool:
    """Tell whether a record has an episode's events and summary."""
    events = record.get("events") if isinstance(record, Mapping) else None
    return isinstance(events, list) and bool(events) and {"type", "data"} <= events[0].keys() and "summary" in record


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Yield one trace per file, with its result file's score."""
    for record in records:
        name = record.name if record.file is None else record.file.name.removesuffix(ENDING)
        yield _trace(record.content, read_result(record.file), task_id_of(name))


def _trace(document: Mapping[str, Any], result: Mapping[str, Any], task_id: str) -> Trace:
    summary = document["summary"]
    declared = document.get("contract") or {}
    outcome = result.get("result") or {}
    metrics = outcome.get("metrics") or {}
    usage = summary.get("token_usage") or {}
    return Trace(
        trace_id=task_id,
        replies=replies_of_events(document["events"]),
        opening=_opening(summary),
        instance_id=task_id,
        described=InstanceDescription(task_id, metrics.get("capacity", -1), metrics.get("optimal_value", -1)),
        declared_contract=known_contract(declared.get("shown")),
        runtime_contract=known_contract(declared.get("runtime")),
        train_contract=declared.get("trained"),
        score=outcome.get("score"),
        finish_reason=summary.get("finish_reason") or "timeout",  # the clock ran out: no finish event is written
        error_message=result.get("error"),
        started_at=time_of(document["started_at"]),
        wall_seconds=seconds_of(document, result),
        prompt_tokens=usage.get("prompt_tokens"),
        completion_tokens=usage.get("completion_tokens"),
        columns=columns_of(outcome) | (declared.get("episode") or {}),
    )


def _opening(summary: Mapping[str, Any]) -> tuple[OpeningMessage, ...]:
    declared = summary["task"]
    task = declared if isinstance(declared, str) else json.dumps(declared, sort_keys=True)
    systems = [OpeningMessage("system", text) for text in summary.get("system_prompts") or ()]
    return (*systems, OpeningMessage("user", task))
