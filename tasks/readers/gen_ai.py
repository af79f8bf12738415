"""Messages in OpenTelemetry's attributes for generative AI, and OpenLLMetry's."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from carryover.tasks.readers.conversation import calls_of
from carryover.tasks.readers.spans import Turn, flattened_messages, join_turns

_IN = "gen_ai.input.messages"
_OUT = "gen_ai.output.messages"
_TOOL = "gen_ai.tool.name"


def conversation_of(held: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the conversation in spans: messages, else executed tools."""
    spoken = join_turns([turn for each in held for turn in _turns(each)])
    if any(calls_of(message) for message in spoken):
        return spoken
    executed = [message for each in held if _TOOL in each for message in _executed(each)]
    return executed or spoken


def _turns(attributes: Mapping[str, Any]) -> Iterator[Turn]:
    """Yield a model call's messages, as JSON or flattened."""
    if _OUT in attributes:
        yield _messages(attributes.get(_IN)), _messages(attributes[_OUT])
    answered = flattened_messages(attributes, "gen_ai.completion")
    if answered:
        yield flattened_messages(attributes, "gen_ai.prompt"), [{**each, "role": "assistant"} for each in answered]


def _messages(held: Any) -> list[dict[str, Any]]:
    parsed = json.loads(held) if isinstance(held, str) else held
    return [{**message, "parts": message.get("parts") or []} for message in parsed or ()]


def _executed(attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    call_id = str(attributes.get("gen_ai.tool.call.id") or "")
    call = {"name": attributes[_TOOL], "arguments": attributes.get("gen_ai.tool.call.arguments"), "id": call_id}
    result = attributes.get("gen_ai.tool.call.result")
    messages: list[dict[str, Any]] = [{"role": "assistant", "content": "", "tool_calls": [call]}]
    if result is None:
        return messages
    return [*messages, {"role": "tool", "tool_call_id": call_id, "content": result}]
