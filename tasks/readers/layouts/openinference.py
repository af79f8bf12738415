"""Spans under OpenInference's conventions, of models and tools."""

from collections.abc import Iterator, Sequence
from typing import Any

from carryover.tasks.readers.described import chat_trace
from carryover.tasks.readers.reader import Record, shared_name
from carryover.tasks.readers.spans import attributes_of, flattened_messages, has_attribute, join_turns, traces_of_spans
from carryover.tasks.readers.trace import Trace

LAYOUT = "OpenInference spans"
JOINS_RECORDS = True
_KIND = "openinference.span.kind"


def detect(record: Any) -> bool:
    """Tell whether a record is a span or export of OpenInference."""
    return has_attribute(record, _KIND)


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Yield one trace per trace of spans."""
    name = shared_name(records)
    for trace_id, spans in traces_of_spans([record.content for record in records]).by_trace().items():
        held = [attributes_of(span) for span in spans]
        turns = [
            (flattened_messages(each, "llm.input_messages"), flattened_messages(each, "llm.output_messages"))
            for each in held
            if each.get(_KIND) == "LLM"
        ]
        if turns:
            yield chat_trace({}, join_turns(turns), name, trace_id=trace_id or name)
