"""Spans under OpenTelemetry's conventions for generative AI: messages in attributes, and spans of executed tools."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from carryover.tasks.readers.described import chat_trace
from carryover.tasks.readers.reader import Record, shared_name
from carryover.tasks.readers.spans import attributes_of, join_turns, traces_of_spans
from carryover.tasks.readers.trace import Trace

LAYOUT = "OpenTelemetry spans"
JOINS_RECORDS = True
_IN = "gen_ai.input.messages"
_OUT = "gen_ai.output.messages"
_TOOL = "gen_ai.tool.name"
_MODEL = "gen_ai.request.model"


def detect(record: Any) -> bool:
    """Tell whether a record is a span, or an export of spans, with attributes of generative AI."""
    keys = [key for span in traces_of_spans([record]).spans[:50] for key in attributes_of(span)]
    return any(key.startswith("gen_ai.") for key in keys)


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Yield one trace per trace of spans: from its messages, else from the spans of the tools that it executed."""
    name = shared_name(records)
    for trace_id, spans in traces_of_spans([record.content for record in records]).by_trace().items():
        held = [attributes_of(span) for span in spans]
        messages = _conversation(held)
        if messages:
            model = next((str(each[_MODEL]) for each in held if _MODEL in each), None)
            yield chat_trace({}, messages, name, trace_id=trace_id or name, model_name=model)


def _conversation(held: list[dict[str, Any]]) -> list[dict[str, Any]]:
    spoken = join_turns((_messages(each.get(_IN)), _messages(each[_OUT])) for each in held if _OUT in each)
    if any(part.get("type") == "tool_call" for message in spoken for part in message["parts"]):
        return spoken
    executed = [message for each in held if _TOOL in each for message in _executed(each)]
    return executed or spoken


def _messages(held: Any) -> list[dict[str, Any]]:
    parsed = json.loads(held) if isinstance(held, str) else held
    return [{**message, "parts": message.get("parts") or []} for message in parsed or ()]


def _executed(attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    call_id = str(attributes.get("gen_ai.tool.call.id") or "")
    call = {"name": attributes[_TOOL], "arguments": attributes.get("gen_ai.tool.call.arguments"), "id": call_id}
    result = attributes.get("gen_ai.tool.call.result")
    messages: list[dict[str, Any]] = [{"role": "assistant", "content": "", "tool_calls": [call]}]
    return messages if result is None else [*messages, {"role": "tool", "tool_call_id": call_id, "content": result}]
