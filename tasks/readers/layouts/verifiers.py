"""Traces of verifiers 1: a graph of messages under `nodes`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from carryover.tasks.readers.described import chat_trace, first_text
from carryover.tasks.readers.reader import Record
from carryover.tasks.readers.trace import Trace

LAYOUT = "a trace of verifiers"
JOINS_RECORDS = False


def detect(record: Any) -> bool:
    """Tell whether a record is a trace with nodes, or an episode of such."""
    if not isinstance(record, Mapping):
        return False
    return {"env", "task", "traces"} <= record.keys() or _has_nodes(record)


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Yield one trace per branch: the path to a node that nothing follows."""
    for record in records:
        for held in record.content.get("traces", [record.content]):
            for number, path in enumerate(_branches(held["nodes"]), start=1):
                name = str(held.get("id") or record.name)
                yield _trace(held, path, name if number == 1 else f"{name}-branch-{number}")


def _has_nodes(record: Mapping[str, Any]) -> bool:
    nodes = record.get("nodes")
    return isinstance(nodes, list) and bool(nodes) and isinstance(nodes[0], Mapping) and "message" in nodes[0]


def _trace(held: Mapping[str, Any], path: list[Mapping[str, Any]], name: str) -> Trace:
    task = held.get("task") or {}
    config = (held.get("agent") or {}).get("config") or {}
    rewards = [each["score"] * each.get("weight", 1.0) for each in (held.get("rewards") or {}).values() if each]
    score = sum(rewards) if rewards else None
    described = {"instance_id": first_text(task, ("key", "hash")), "model_name": config.get("model"), "score": score}
    return chat_trace(held, [node["message"] for node in path], name, trace_id=name, **described)


def _branches(nodes: list[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    parents = {node.get("parent") for node in nodes}
    if parents == {None}:
        yield nodes
        return
    for leaf in range(len(nodes)):
        if leaf not in parents:
            yield _path(nodes, leaf)


def _path(nodes: list[Mapping[str, Any]], leaf: int) -> list[Mapping[str, Any]]:
    path: list[Mapping[str, Any]] = []
    at: Any = leaf
    while isinstance(at, int) and len(path) < len(nodes):
        path.append(nodes[at])
        at = nodes[at].get("parent")
    return path[::-1]
