"""Messages in the items of OpenAI's Responses API."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from carryover.tasks.readers.outputs import text_of_parts

_CODE_CALLS = (
    "function_call",
    "custom_tool_call",
    "code_interpreter_call",
    "local_shell_call",
    "shell_call",
    "mcp_call",
)
_CALL = "_call"
_OUTPUT = "_call_output"
ITEM_KINDS = (*_CODE_CALLS, *(f"{kind}_output" for kind in _CODE_CALLS))
"""Items that tell the layout: calls that may run code, and their outputs."""


def messages_of_items(items: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages that items are, oldest first."""
    return list(chain.from_iterable(map(_messages_of, items)))


def _messages_of(item: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    kind = item.get("type") or "message"
    call_id = str(item.get("call_id") or item.get("id") or "")
    if kind.endswith(_OUTPUT):
        yield {"role": "tool", "tool_call_id": call_id, "content": _of_shell(item.get("output"))}
    elif kind.endswith(_CALL):
        yield {"role": "assistant", "content": "", "tool_calls": [_call(item, call_id)]}
        came_back = _came_back(item)
        if came_back is not None:
            yield {"role": "tool", "tool_call_id": call_id, "content": came_back}
    elif kind == "message":
        yield {"role": item.get("role"), "content": text_of_parts(item.get("content"))}


def _came_back(item: Mapping[str, Any]) -> Any:
    """Return what a call's own item holds of its outcome, if anything."""
    if item["type"] == "mcp_call":
        return {"output": item.get("output"), "error": item.get("error")}
    outputs = item.get("outputs")
    if outputs:
        return "".join(str(each.get("logs") or "") for each in outputs)
    return None


def _of_shell(output: Any) -> Any:
    """Return an output; that of a shell's commands as one outcome."""
    if not isinstance(output, list) or not any("stdout" in each for each in output):
        return output
    codes = [(each.get("outcome") or {}).get("exit_code") for each in output]
    streams = {name: "".join(each.get(name, "") for each in output) for name in ("stdout", "stderr")}
    return streams | {"exit_code": next(filter(None, codes), 0)}


def _call(item: Mapping[str, Any], call_id: str) -> dict[str, Any]:
    if item["type"] == "code_interpreter_call":
        code = item.get("code")
        arguments = None if code is None else {"code": code}  # null: the code is not available
        return {"name": "python", "arguments": arguments, "id": call_id}
    arguments = item.get("arguments", item.get("input", item.get("action")))
    return {"name": item.get("name") or item["type"].removesuffix(_CALL), "arguments": arguments, "id": call_id}
