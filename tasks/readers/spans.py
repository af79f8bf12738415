"""Spans of traces: single ones, and OTLP's nested export."""

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, NamedTuple

from carryover.tasks.readers.conversation import AGENT_ROLES, replies_of, role_of

_DETAILS = "gen_ai.client.inference.operation.details"
"""Event of a span that holds its messages, where a producer keeps them out of its attributes."""
_LOOKED_AT = 50
"""Spans of an export that are looked at to tell its layout."""
_NESTING = ("message", "tool_call", "function", "message_content")
"""Parts of a flattened key that name no field of a message."""
Turn = tuple[list[dict[str, Any]], list[dict[str, Any]]]
"""Messages that a model was sent, and those that it answered."""


class Spans(NamedTuple):
    """Spans in the order in which they lie."""

    spans: list[Mapping[str, Any]]

    def by_trace(self) -> dict[str, list[Mapping[str, Any]]]:
        """Return each trace's spans by identifier, by start."""
        traces: dict[str, list[Mapping[str, Any]]] = {}
        for span in self.spans:
            traces.setdefault(_trace_id(span), []).append(span)
        return {trace_id: sorted(spans, key=_started_at) for trace_id, spans in traces.items()}


def traces_of_spans(records: Iterable[Any]) -> Spans:
    """Return the spans of records: bare, under `spans`, or OTLP's."""
    return Spans(list(chain.from_iterable(map(_spans_of, records))))


def has_attribute(record: Any, beginning: str) -> bool:
    """Tell whether an early span has an attribute that begins so."""
    for span in traces_of_spans([record]).spans[:_LOOKED_AT]:
        is_span = "attributes" in span or "span_attributes" in span
        keys = attributes_of(span) if is_span else [key.removeprefix("attributes.") for key in span]
        if any(key.startswith(beginning) for key in keys):
            return True
    return False


def attributes_of(span: Mapping[str, Any]) -> dict[str, Any]:
    """Return a span's attributes, flat, from any of three forms.

    An object, OTLP's list of keys and values, or the span itself.
    """
    held = span.get("attributes", span.get("span_attributes"))
    if held is None:  # a span that is its attributes, or a row with a column for each
        return _flat({key.removeprefix("attributes."): value for key, value in span.items()})
    if isinstance(held, str):
        held = json.loads(held)
    if isinstance(held, list):
        return {each["key"]: _value(each.get("value")) for each in held if isinstance(each, Mapping) and "key" in each}
    return _flat(held)


def with_details(span: Mapping[str, Any]) -> dict[str, Any]:
    """Return a span's attributes, and those of its events that hold messages."""
    attributes = attributes_of(span)
    for event in span.get("events") or ():
        if event.get("name") == _DETAILS:
            attributes |= attributes_of(event)
    return attributes


def held_under(attributes: Mapping[str, Any], key: str) -> Any:
    """Return an attribute; an object as its flattened fields."""
    if key in attributes:
        return attributes[key]
    prefix = f"{key}."
    return {name.removeprefix(prefix): value for name, value in attributes.items() if name.startswith(prefix)} or None


def call_messages(name: str, arguments: Any, result: Any, call_id: str = "") -> list[dict[str, Any]]:
    """Return an executed tool as the call and its result."""
    call = {"name": name, "arguments": arguments, "id": call_id}
    messages: list[dict[str, Any]] = [{"role": "assistant", "content": "", "tool_calls": [call]}]
    if result is None:
        return messages
    return [*messages, {"role": "tool", "tool_call_id": call_id, "content": result}]


def with_code(spoken: list[dict[str, Any]], executed: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the models' conversation, or the executed tools where it shows no code."""
    if executed and not any(reply.blocks or reply.unread for reply in replies_of(spoken)):
        return executed
    return spoken


def flattened_messages(attributes: Mapping[str, Any], prefix: str) -> list[dict[str, Any]]:
    """Return the messages of attributes such as `PREFIX.0.message.tool_calls.0.tool_call.function.arguments`."""
    messages: dict[int, dict[str, Any]] = {}
    for key, value in attributes.items():
        number, _, rest = key.removeprefix(f"{prefix}.").partition(".")
        if key.startswith(f"{prefix}.") and number.isdigit():
            fields = [field for field in rest.split(".") if field not in _NESTING]
            _set_field(messages.setdefault(int(number), {"role": "", "content": ""}), fields, value)
    return [_with_calls(messages[number]) for number in sorted(messages)]


def _set_field(message: dict[str, Any], fields: list[str], value: Any) -> None:
    match fields:
        case ["role" | "content" | "tool_call_id" as field]:
            message[field] = value
        case ["contents", _, "text"]:
            message["content"] += str(value)
        case ["tool_calls", number, field]:
            message.setdefault("calls", {}).setdefault(int(number), {})[field] = value


def _with_calls(message: dict[str, Any]) -> dict[str, Any]:
    calls = message.pop("calls", {})
    return message | ({"tool_calls": [calls[number] for number in sorted(calls)]} if calls else {})


def join_turns(turns: Iterable[Turn]) -> list[dict[str, Any]]:
    """Return one conversation from a model's calls.

    Each call repeats the messages before it. It may repeat the answer in other words: a harness closes a tag that a
    stop sequence cut.
    """
    messages: list[dict[str, Any]] = []
    for sent, answered in turns:
        seen = [_identity(message) for message in messages]
        kept = next((len(sent) - index for index in range(len(sent)) if _identity(sent[-1 - index]) in seen), 0)
        fresh = sent[kept:]
        repeats_answer = bool(kept) and bool(fresh) and role_of(fresh[0]) in AGENT_ROLES
        if repeats_answer and role_of(messages[-1]) in AGENT_ROLES:
            messages.pop()
        messages += fresh
        messages += answered
    return messages


def _identity(message: Mapping[str, Any]) -> str:
    parts = [message.get(key) or None for key in ("role", "content", "parts", "tool_call_id")]
    calls = message.get("tool_calls") or ()
    return json.dumps([parts, [call.get("arguments") for call in calls]], default=str, sort_keys=True)


def _spans_of(record: Any) -> Iterator[Mapping[str, Any]]:
    if not isinstance(record, Mapping):
        return
    nested = [
        record[key] for key in ("resourceSpans", "scopeSpans", "spans", "data") if isinstance(record.get(key), list)
    ]
    if not nested:
        yield record
    for each in nested:
        for inner in each:
            yield from _spans_of(inner)


def _value(held: Any) -> Any:
    """Return OTLP's typed value."""
    if not isinstance(held, Mapping):
        return held
    if "arrayValue" in held:
        return [_value(each) for each in held["arrayValue"].get("values", ())]
    if "kvlistValue" in held:
        return {each["key"]: _value(each.get("value")) for each in held["kvlistValue"].get("values", ())}
    return next(iter(held.values()), None)


def _flat(held: Any, prefix: str = "") -> dict[str, Any]:
    """Return nested attributes under dotted keys and indices."""
    flat: dict[str, Any] = {}
    pairs = held.items() if isinstance(held, Mapping) else ((str(index), each) for index, each in enumerate(held))
    for key, value in pairs:
        is_nested = isinstance(value, Mapping) or (
            isinstance(value, list) and value and isinstance(value[0], Mapping) and "llm" in f"{prefix}{key}"
        )
        flat |= _flat(value, f"{prefix}{key}.") if is_nested else {f"{prefix}{key}": value}
    return flat


def _trace_id(span: Mapping[str, Any]) -> str:
    context = span.get("context")
    held = context if isinstance(context, Mapping) else span
    return str(held.get("trace_id") or held.get("traceId") or "")


def _started_at(span: Mapping[str, Any]) -> str:
    started = next((span[key] for key in ("startTimeUnixNano", "start_time", "startTime") if span.get(key)), "")
    if str(started).isdigit():
        return str(started).rjust(32, "0")
    return str(started)
