"""Traces and results as the repository of arXiv 2603.01209 writes them (mrcabbage972/agents-learn-runtime at 5ba1133).

A reply whose block did not run is a reply without a block here, where the repository counts it as a step; a model call
that failed is a reply without text. The result lies beside `X.trace.json` as `X.json`.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import zip_longest
from typing import Any

from carryover.tasks.readers.reader import Record
from carryover.tasks.readers.trace import Block, InstanceDescription, OpeningMessage, Reply, Trace, known_contract

LAYOUT = "the repository of arXiv 2603.01209"
JOINS_RECORDS = False
_ENDING = ".trace.json"


def detect(record: Any) -> bool:
    """Tell whether a record has the events of an episode and their summary."""
    events = record.get("events") if isinstance(record, Mapping) else None
    return isinstance(events, list) and bool(events) and {"type", "data"} <= events[0].keys() and "summary" in record


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Yield one trace per file, with the score of its result file; without one it has none."""
    for record in records:
        yield _trace(record.content, _result(record), _task_id(record))


def _result(record: Record) -> Mapping[str, Any]:
    if record.file is None or not record.file.name.endswith(_ENDING):
        return {}
    beside = record.file.parent / (record.file.name.removesuffix(_ENDING) + ".json")
    return json.loads(beside.read_text(encoding="utf-8")) if beside.is_file() else {}


def _task_id(record: Record) -> str:
    name = record.name if record.file is None else record.file.name.removesuffix(_ENDING)
    task_id = name.removeprefix("knapsack-")
    return name if task_id.isdigit() else task_id  # named by the task alone, whose id begins as the family does


def _trace(document: Mapping[str, Any], result: Mapping[str, Any], task_id: str) -> Trace:
    summary = document["summary"]
    outcome = result.get("result") or {}
    metrics = outcome.get("metrics") or {}
    usage = summary.get("token_usage") or {}
    declared = document.get("contract") or {}
    started_at = _time(document["started_at"])
    finished_at = document.get("finished_at")
    wall_seconds = (_time(finished_at) - started_at).total_seconds() if finished_at else 0.0
    if "finished_at" in result:  # measured around the episode
        wall_seconds = result["finished_at"] - result["started_at"]
    task = summary["task"] if isinstance(summary["task"], str) else json.dumps(summary["task"], sort_keys=True)
    systems = (OpeningMessage("system", text) for text in summary.get("system_prompts") or ())
    taken = {"value_taken": "agent_value", "weight_taken": "weight_used", "taken_count": "items_taken_count",
             "inspected_count": "inspected_count"}  # fmt: skip
    return Trace(
        trace_id=task_id,
        replies=tuple(_replies(document["events"])),
        opening=(*systems, OpeningMessage("user", task)),
        instance_id=task_id,
        described=InstanceDescription(task_id, metrics.get("capacity", -1), metrics.get("optimal_value", -1)),
        declared_contract=known_contract(declared.get("shown")),
        runtime_contract=known_contract(declared.get("runtime")),
        train_contract=declared.get("trained"),
        score=outcome.get("score"),
        finish_reason=summary.get("finish_reason") or "timeout",  # the clock ran out: no finish event is written
        error_message=result.get("error"),
        started_at=started_at,
        wall_seconds=wall_seconds,
        prompt_tokens=usage.get("prompt_tokens"),
        completion_tokens=usage.get("completion_tokens"),
        columns={
            **{column: metrics.get(metric) or 0 for column, metric in taken.items()},
            "is_solved": bool(outcome.get("is_solved")),
            **(declared.get("episode") or {}),
        },
    )


def _replies(events: list[Mapping[str, Any]]) -> Iterator[Reply]:
    """Yield one reply per model response, with the block that it led to, and one per model call that failed."""
    pending: Reply | None = None
    prompt_tokens = 0
    for event, following in zip_longest(events, events[1:]):
        data = event["data"]
        match event["type"]:
            case "ModelCallEvent":
                prompt_tokens = data.get("prompt_tokens") or 0
            case "ModelResponseEvent":
                if pending is not None:
                    yield pending
                completion_tokens = data.get("completion_tokens") or 0
                prompt_tokens = (data.get("total_tokens") or prompt_tokens + completion_tokens) - completion_tokens
                pending = Reply("", prompt_tokens=prompt_tokens, completion_tokens=completion_tokens)
            case "ErrorEvent" if pending is not None:
                pending = pending._replace(error=data["error"])
            case "ErrorEvent":
                if not _ends_the_episode(following):
                    yield Reply("", error=data["error"], is_model_error=True)
            case "StepEvent":
                yield _answered(pending or Reply(""), data)
                pending = None
    if pending is not None:
        yield pending


def _ends_the_episode(following: Mapping[str, Any] | None) -> bool:
    """Tell whether an error is the one that the result names, and the finish event after it."""
    is_last = following is not None and following["type"] == "FinishEvent"
    return is_last and following["data"].get("reason") not in ("finish_tool", "max_turns")


def _answered(reply: Reply, data: Mapping[str, Any]) -> Reply:
    outcome = data["interpreter_result"] or {}
    result = outcome.get("result")
    error = outcome.get("error") or None
    if data["code"] is None:
        return reply._replace(text=data["assistant_text"], error=error)
    told = result if result is None or isinstance(result, str) else json.dumps(result)
    block = Block(data["code"], output=outcome.get("output") or "", error=error, result=told)
    return reply._replace(text=data["assistant_text"], blocks=(block,), error=None)


def _time(text: str) -> datetime:
    time = datetime.fromisoformat(text)
    return time if time.tzinfo else time.replace(tzinfo=UTC)
