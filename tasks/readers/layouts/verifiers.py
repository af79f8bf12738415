"""Traces of verifiers 1: a graph of messages under `nodes`.

Older lines are prompt and completion.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from carryover.tasks.readers.described import chat_trace
from carryover.tasks.readers.reader import Record
from carryover.tasks.readers.trace import Trace

LAYOUT = "a trace of verifiers"
JOINS_RECORDS = False


def detect(record: Any) -> bool:
    """Tell whether a record has nodes that hold messages."""
    nodes = None
    if isinstance(record, Mapping):
        nodes = record.get("nodes")
    return isinstance(nodes, list) and bool(nodes) and isinstance(nodes[0], Mapping) and "message" in nodes[0]


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Yield one trace per record: the path to its last node."""
    for record in records:
        content = record.content
        messages = [node["message"] for node in _path(content["nodes"])]
        task = content.get("task") or {}
        instance_id = str(task.get("key") or task.get("hash") or "") or None
        yield chat_trace(content, messages, record.name, instance_id=instance_id, score=_score(content))


def _score(content: Mapping[str, Any]) -> float | None:
    rewards = [each for each in (content.get("rewards") or {}).values() if isinstance(each, Mapping)]
    if rewards:
        return sum(each["score"] * each.get("weight", 1.0) for each in rewards)
    return None


def _path(nodes: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    if not any("parent" in node for node in nodes):
        return nodes
    path: list[Mapping[str, Any]] = []
    at: Any = len(nodes) - 1
    while isinstance(at, int) and len(path) <= len(nodes):
        path.append(nodes[at])
        at = nodes[at].get("parent")
    return path[::-1]
