"""Trajectories in ATIF 1.0 to 1.8 (Harbor RFC 0001)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from carryover.tasks.readers.conversation import opening_of, replies_of
from carryover.tasks.readers.reader import Record
from carryover.tasks.readers.trace import Trace, known_contract

LAYOUT = "an ATIF trajectory"
JOINS_RECORDS = False


def detect(record: Any) -> bool:
    """Tell whether a record declares the format, or has its steps."""
    if not isinstance(record, Mapping) or not isinstance(record.get("steps"), list):
        return False
    first = record["steps"][0] if record["steps"] else None
    has_steps = isinstance(first, Mapping) and {"step_id", "source"} <= first.keys()
    return has_steps or str(record.get("schema_version", "")).startswith("ATIF")


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Yield a trajectory, then its subagents', at any depth."""
    for record in records:
        yield _trace(record.content, record.name)
        for number, inner in enumerate(record.content.get("subagent_trajectories") or (), start=1):
            yield from read([record._replace(content=inner, name=f"{record.name}-subagent-{number}")])


def _trace(document: Mapping[str, Any], name: str) -> Trace:
    extra = document.get("extra") or {}
    totals = document.get("final_metrics") or {}
    agent = document.get("agent") or {}
    messages = list(_messages(document["steps"]))
    trace_id = str(document.get("trajectory_id") or document.get("session_id") or name)
    return Trace(
        trace_id=trace_id,
        replies=replies_of(messages),
        opening=opening_of(messages),
        declared_contract=known_contract(extra.get("shown_contract")),
        runtime_contract=known_contract(extra.get("runtime_contract")),
        train_contract=extra.get("train_contract"),
        instance_id=str(extra.get("instance_id") or trace_id),
        model_name=agent.get("model_name"),
        score=extra.get("score"),
        finish_reason=extra.get("finish_reason"),
        prompt_tokens=totals.get("total_prompt_tokens"),
        completion_tokens=totals.get("total_completion_tokens"),
        columns=extra.get("episode") or {},
    )


def _messages(steps: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the steps' messages, each before its results."""
    for step in steps:
        yield {**step, "role": step["source"]}
        for result in (step.get("observation") or {}).get("results") or ():
            yield {**result, "role": "tool", "tool_call_id": result.get("source_call_id")}
