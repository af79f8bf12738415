"""Spans under OpenInference's conventions, of models and tools."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from carryover.tasks.readers.described import chat_trace
from carryover.tasks.readers.reader import Record, shared_name
from carryover.tasks.readers.spans import (
    Turn,
    attributes_of,
    call_messages,
    flattened_messages,
    has_attribute,
    join_turns,
    traces_of_spans,
    with_code,
)
from carryover.tasks.readers.trace import Trace

LAYOUT = "OpenInference spans"
JOINS_RECORDS = True
_KIND = "openinference.span.kind"
_MODEL = "llm.model_name"


def detect(record: Any) -> bool:
    """Tell whether a record is a span or export of OpenInference."""
    return has_attribute(record, _KIND)


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Yield a trace per trace of spans: messages, else tools."""
    name = shared_name(records)
    for trace_id, spans in traces_of_spans([record.content for record in records]).by_trace().items():
        held = [attributes_of(span) for span in spans]
        messages = _conversation(held)
        if messages:
            model = next((str(each[_MODEL]) for each in held if _MODEL in each), None)
            yield chat_trace({}, messages, name, trace_id=trace_id or name, model_name=model)


def _conversation(held: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    spoken = join_turns(_turn(each) for each in held if each.get(_KIND) == "LLM")
    tools = [each for each in held if each.get(_KIND) == "TOOL"]
    executed = list(chain.from_iterable(map(_executed, tools)))
    return with_code(spoken, executed)


def _turn(attributes: Mapping[str, Any]) -> Turn:
    sent = flattened_messages(attributes, "llm.input_messages")
    return sent, flattened_messages(attributes, "llm.output_messages")


def _executed(attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    name = str(attributes.get("tool.name") or "")
    return call_messages(name, attributes.get("input.value"), attributes.get("output.value"))
