"""Spans under OpenInference's conventions: an LLM span's flattened messages, and a tool span's output."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from carryover.tasks.readers.described import chat_trace
from carryover.tasks.readers.reader import Record, shared_name
from carryover.tasks.readers.spans import attributes_of, join_turns, traces_of_spans
from carryover.tasks.readers.trace import Trace

LAYOUT = "OpenInference spans"
JOINS_RECORDS = True
_KIND = "openinference.span.kind"
_KEY = re.compile(r"llm\.(?P<side>input|output)_messages\.(?P<message>\d+)\.message\.(?P<field>.+)")
_CALL = re.compile(r"tool_calls\.(?P<call>\d+)\.tool_call\.(?P<field>.+)")
_PART = re.compile(r"contents\.(?P<part>\d+)\.message_content\.text")


def detect(record: Any) -> bool:
    """Tell whether a record is a span, or an export of spans, with a kind of OpenInference."""
    return any(_KIND in attributes_of(span) for span in traces_of_spans([record]).spans[:50])


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Yield one trace per trace of spans."""
    for trace_id, spans in traces_of_spans([record.content for record in records]).by_trace().items():
        turns = [_turn(attributes_of(span)) for span in spans if attributes_of(span).get(_KIND) == "LLM"]
        name = shared_name(records)
        if turns:
            yield chat_trace({}, join_turns(turns), trace_id or name, trace_id=trace_id or name)


def _turn(attributes: Mapping[str, Any]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    sides: dict[str, dict[int, dict[str, Any]]] = {"input": {}, "output": {}}
    for key, value in attributes.items():
        found = _KEY.fullmatch(key)
        if found:
            message = sides[found["side"]].setdefault(int(found["message"]), {"role": "", "content": ""})
            _set(message, found["field"], value)
    return tuple([_finished(side[index]) for index in sorted(side)] for side in sides.values())  # type: ignore[return-value]


def _set(message: dict[str, Any], field: str, value: Any) -> None:
    call = _CALL.fullmatch(field)
    if call:
        held = message.setdefault("calls", {}).setdefault(int(call["call"]), {})
        held[call["field"].rpartition(".")[2]] = value
    elif _PART.fullmatch(field):
        message["content"] += str(value)
    elif field in ("role", "content", "tool_call_id"):
        message[field] = value


def _finished(message: dict[str, Any]) -> dict[str, Any]:
    calls = message.pop("calls", {})
    return message | ({"tool_calls": [calls[index] for index in sorted(calls)]} if calls else {})
