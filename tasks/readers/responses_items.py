"""Messages in the items of OpenAI's Responses API."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from carryover.tasks.readers.outputs import text_of_parts

_CALLS = ("function_call", "custom_tool_call", "code_interpreter_call", "local_shell_call", "shell_call")
_OUTPUTS = tuple(f"{kind}_output" for kind in _CALLS)
ITEM_KINDS = (*_CALLS, *_OUTPUTS)


def messages_of_items(items: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages that items are, oldest first."""
    return [message for item in items for message in _messages_of(item)]


def _messages_of(item: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    kind = item.get("type") or "message"
    call_id = str(item.get("call_id") or item.get("id") or "")
    if kind in _OUTPUTS:
        yield {"role": "tool", "tool_call_id": call_id, "content": item.get("output")}
    elif kind in _CALLS:
        yield {"role": "assistant", "content": "", "tool_calls": [_call(item, call_id)]}
        yield from _printed(item, call_id)
    elif kind == "message":
        yield {"role": item.get("role"), "content": text_of_parts(item.get("content"))}


def _printed(item: Mapping[str, Any], call_id: str) -> Iterator[dict[str, Any]]:
    """Yield a code interpreter call's prints, where recorded."""
    outputs = item.get("outputs")
    if outputs:
        logs = "".join(str(each.get("logs") or "") for each in outputs)
        yield {"role": "tool", "tool_call_id": call_id, "content": logs}


def _call(item: Mapping[str, Any], call_id: str) -> dict[str, Any]:
    if item["type"] == "code_interpreter_call":
        return {"name": "python", "arguments": {"code": item.get("code")}, "id": call_id}
    arguments = item.get("arguments", item.get("input", item.get("action")))
    return {"name": item.get("name") or "shell", "arguments": arguments, "id": call_id}
