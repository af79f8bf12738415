"""Items of OpenAI's Responses API: function calls, code interpreter calls, shell calls and their outputs."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from carryover.tasks.readers.described import chat_trace
from carryover.tasks.readers.outputs import text_of_parts
from carryover.tasks.readers.reader import Record
from carryover.tasks.readers.trace import Trace

LAYOUT = "items of the Responses API"
JOINS_RECORDS = True
_CALLS = ("function_call", "custom_tool_call", "code_interpreter_call", "local_shell_call", "shell_call")
_OUTPUTS = tuple(f"{kind}_output" for kind in _CALLS)
_LISTS = ("output", "items", "input", "messages")


def detect(record: Any) -> bool:
    """Tell whether a record is an item of a call, a response with items, or a record with a list of items."""
    if not isinstance(record, Mapping):
        return False
    if isinstance(record.get("payload"), Mapping) and record.get("type") in ("response_item", "session_meta"):
        return True  # a line of a session of Codex
    if record.get("type") in (*_CALLS, *_OUTPUTS):
        return True
    if record.get("type") == "message" and isinstance(record.get("content"), list):
        return any(part.get("type") in ("input_text", "output_text") for part in record["content"])
    return any(detect(item) for items in _lists(record) for item in items if item.get("type") in (*_CALLS, *_OUTPUTS))


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Yield one trace of bare items, or one per record that holds items."""
    contents = [record.content for record in records]
    if not _lists(contents[0]):
        items = [item["payload"] if isinstance(item.get("payload"), Mapping) else item for item in contents]
        name = records[0].name.rpartition("-")[0] or records[0].name
        yield chat_trace({}, [message for item in items for message in _messages(item)], name)
        return
    for record in records:
        items = [item for listed in reversed(_lists(record.content)) for item in listed]
        yield chat_trace(record.content, [message for item in items for message in _messages(item)], record.name)


def _lists(record: Mapping[str, Any]) -> list[list[Mapping[str, Any]]]:
    held = [record.get(key) for key in _LISTS]
    return [[item for item in items if isinstance(item, Mapping)] for items in held if isinstance(items, list)]


def _messages(item: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    kind = item.get("type") or "message"
    call_id = str(item.get("call_id") or item.get("id") or "")
    if kind in _OUTPUTS:
        yield {"role": "tool", "tool_call_id": call_id, "content": item.get("output")}
    elif kind == "code_interpreter_call":
        call = {"name": "python", "arguments": {"code": item.get("code")}, "id": call_id}
        yield {"role": "assistant", "content": "", "tool_calls": [call]}
        if item.get("outputs"):
            logs = "".join(str(each.get("logs") or "") for each in item["outputs"])
            yield {"role": "tool", "tool_call_id": call_id, "content": logs}
    elif kind in _CALLS:
        held = item.get("arguments", item.get("input", item.get("action")))
        name = item.get("name") or "shell"
        yield {"role": "assistant", "content": "", "tool_calls": [{"name": name, "arguments": held, "id": call_id}]}
    elif kind == "message" and item.get("role"):
        yield {"role": item["role"], "content": text_of_parts(item.get("content"))}
