"""The result file beside a trace of arXiv 2603.01209's repository."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

ENDING = ".trace.json"
_COLUMNS = {
    "value_taken": "agent_value",
    "weight_taken": "weight_used",
    "taken_count": "items_taken_count",
    "inspected_count": "inspected_count",
}
"""Metrics of a result by our columns."""


def read_result(file: Any) -> Mapping[str, Any]:
    """Return the result beside a trace file; empty where there is none."""
    if file is None or not file.name.endswith(ENDING):
        return {}
    beside = file.parent / (file.name.removesuffix(ENDING) + ".json")
    if beside.is_file():
        return json.loads(beside.read_text(encoding="utf-8"))
    return {}


def task_id_of(name: str) -> str:
    """Return the task in a file's name.

    A file that is named by the task alone begins as the family does.
    """
    task_id = name.removeprefix("knapsack-")
    if task_id.isdigit():
        return name
    return task_id


def columns_of(outcome: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of an episode that a result's outcome gives."""
    metrics = outcome.get("metrics") or {}
    taken = {column: metrics.get(metric) or 0 for column, metric in _COLUMNS.items()}
    return taken | {"is_solved": bool(outcome.get("is_solved"))}


def seconds_of(document: Mapping[str, Any], result: Mapping[str, Any]) -> float:
    """Return an episode's duration, as measured or by the trace's times."""
    if "finished_at" in result:
        return result["finished_at"] - result["started_at"]
    finished_at = document.get("finished_at")
    if finished_at:
        return (time_of(finished_at) - time_of(document["started_at"])).total_seconds()
    return 0.0


def time_of(text: str) -> datetime:
    """Return a time of a trace; without a zone, it is UTC."""
    time = datetime.fromisoformat(text)
    if time.tzinfo:
        return time
    return time.replace(tzinfo=UTC)
