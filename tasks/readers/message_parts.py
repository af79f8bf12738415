"""Parts of messages in other services' forms, as parts of Anthropic's."""

from collections.abc import Mapping
from itertools import chain
from typing import Any

_RESULT_FIELDS = {"output-available": "output", "output-error": "errorText", "result": "result"}
"""By state of the AI SDK's call, the field that holds what came back."""
_CALL_KEYS = ("input", "arguments", "args", "code")
_KNOWN_KINDS = (
    "tool",
    "text",
    "image",
    "thinking",
    "reasoning",
    "document",
    "file",
    "code_execution",
    "mcp",
    "server_",
)


def parts_of(message: Mapping[str, Any]) -> list[Any]:
    """Return the parts of a message; none for a text."""
    held = message.get("content") if isinstance(message.get("content"), list) else message.get("parts")
    if not isinstance(held, list):
        return []
    return list(chain.from_iterable(map(_plain_parts, held)))


def unread_parts(parts: list[Any]) -> tuple[str, ...]:
    """Return why parts with the arguments of a call are not read."""
    return tuple(f"a part of type {part.get('type')}" for part in parts if _is_unknown_call(part))


def _plain_parts(part: Any) -> list[Any]:
    """Return a part in Anthropic's form; a finished call is two."""
    if not isinstance(part, Mapping):
        return [part]
    called = part.get("toolUse")
    if isinstance(called, Mapping):
        return [{"type": "tool_use", "id": called.get("toolUseId"), **called}]
    answered = part.get("toolResult")
    if isinstance(answered, Mapping):
        content = _bedrock_content(answered.get("content"))
        return [_result(answered.get("toolUseId"), content, is_error=answered.get("status") == "error")]
    invoked = part.get("toolInvocation", part)
    if isinstance(invoked, Mapping) and "toolCallId" in invoked:
        return _parts_of_sdk(invoked)
    return [part]


def _bedrock_content(content: Any) -> Any:
    """Return a result's parts, or the value of a single JSON part."""
    match content:
        case [{"json": value}]:
            return value
        case _:
            return content


def _parts_of_sdk(part: Mapping[str, Any]) -> list[Any]:
    """Return the AI SDK's call, its result, or both."""
    call_id = part["toolCallId"]
    kind = str(part.get("type"))
    if kind == "tool-result":
        output = part.get("output", part.get("result"))
        return [_result(call_id, _value(output), is_error=_has_failed(part, output))]
    name = part.get("toolName") or kind.removeprefix("tool-")
    call = {"type": "tool_use", "id": call_id, "name": name, "input": part.get("input", part.get("args"))}
    field = _RESULT_FIELDS.get(str(part.get("state")))
    if field is None:
        return [call]
    return [call, _result(call_id, _value(part.get(field)), is_error=field == "errorText")]


def _has_failed(part: Mapping[str, Any], output: Any) -> bool:
    """Tell whether a result's flag (AI SDK 4) or type (5) is an error's."""
    kind = output.get("type") if isinstance(output, Mapping) else None
    return bool(part.get("isError")) or str(kind).startswith("error-")


def _value(output: Any) -> Any:
    """Return a result without the type that the AI SDK gives it."""
    if isinstance(output, Mapping) and output.keys() == {"type", "value"}:
        return output["value"]
    return output


def _result(call_id: Any, content: Any, *, is_error: bool = False) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, "is_error": is_error}


def _is_unknown_call(part: Any) -> bool:
    if not isinstance(part, Mapping) or not any(key in part for key in _CALL_KEYS):
        return False
    return not str(part.get("type")).startswith(_KNOWN_KINDS)
