"""Spans under OpenTelemetry's conventions for generative AI: messages in attributes, and spans of executed tools."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from carryover.tasks.readers.described import chat_trace
from carryover.tasks.readers.reader import Record
from carryover.tasks.readers.spans import attributes_of, join_turns, traces_of_spans
from carryover.tasks.readers.trace import Trace

LAYOUT = "OpenTelemetry spans"
JOINS_RECORDS = True
_IN = "gen_ai.input.messages"
_OUT = "gen_ai.output.messages"
_TOOL = "gen_ai.tool.name"


def detect(record: Any) -> bool:
    """Tell whether a record is a span, or an export of spans, with attributes of generative AI."""
    keys = [key for span in traces_of_spans([record]).spans[:50] for key in attributes_of(span)]
    return any(key.startswith("gen_ai.") for key in keys)


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Yield one trace per trace of spans: from its messages, else from the spans of the tools that it executed."""
    for trace_id, spans in traces_of_spans([record.content for record in records]).by_trace().items():
        held = [attributes_of(span) for span in spans]
        turns = [(_messages(each.get(_IN)), _messages(each.get(_OUT))) for each in held if _OUT in each]
        has_calls = any(part.get("type") == "tool_call" for _, out in turns for each in out for part in each["parts"])
        messages = join_turns(turns) if has_calls else [m for each in held if _TOOL in each for m in _executed(each)]
        name = trace_id or records[0].name.rpartition("-")[0] or records[0].name
        model = next((str(each["gen_ai.request.model"]) for each in held if "gen_ai.request.model" in each), None)
        if messages or turns:
            yield chat_trace({}, messages or join_turns(turns), name, trace_id=name, model_name=model)


def _messages(held: Any) -> list[dict[str, Any]]:
    parsed = json.loads(held) if isinstance(held, str) else held
    return [{**message, "parts": message.get("parts") or []} for message in parsed or ()]


def _executed(attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    call_id = str(attributes.get("gen_ai.tool.call.id") or "")
    call = {"name": attributes[_TOOL], "arguments": attributes.get("gen_ai.tool.call.arguments"), "id": call_id}
    result = attributes.get("gen_ai.tool.call.result")
    messages: list[dict[str, Any]] = [{"role": "assistant", "content": "", "tool_calls": [call]}]
    return messages if result is None else [*messages, {"role": "tool", "tool_call_id": call_id, "content": result}]
