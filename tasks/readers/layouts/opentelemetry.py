"""Spans under OpenTelemetry's conventions for generative AI."""

from collections.abc import Iterator, Sequence
from typing import Any

from carryover.tasks.readers.described import chat_trace
from carryover.tasks.readers.gen_ai import conversation_of
from carryover.tasks.readers.reader import Record, shared_name
from carryover.tasks.readers.spans import has_attribute, traces_of_spans, with_details
from carryover.tasks.readers.trace import Trace

LAYOUT = "OpenTelemetry spans"
JOINS_RECORDS = True
_MODEL = "gen_ai.request.model"


def detect(record: Any) -> bool:
    """Tell whether a record is a span or export of GenAI."""
    return has_attribute(record, "gen_ai.")


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Yield a trace per trace of spans: messages, else tools."""
    name = shared_name(records)
    for trace_id, spans in traces_of_spans([record.content for record in records]).by_trace().items():
        held = [with_details(span) for span in spans]
        messages = conversation_of(held)
        if messages:
            model = next((str(each[_MODEL]) for each in held if _MODEL in each), None)
            yield chat_trace({}, messages, name, trace_id=trace_id or name, model_name=model)
