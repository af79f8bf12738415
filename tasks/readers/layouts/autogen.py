"""Messages of AutoGen's agent chats (0.4 and later), alone or in a `TaskResult`."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from carryover.tasks.readers.described import chat_trace
from carryover.tasks.readers.reader import Record, shared_name
from carryover.tasks.readers.trace import Trace

LAYOUT = "messages of AutoGen"
JOINS_RECORDS = True
_LEFT_OUT = ("ThoughtEvent", "ToolCallSummaryMessage", "ModelClientStreamingChunkEvent")
_LAST_BLOCK = "last block"  # whose call gets the one output of an event's blocks


def detect(record: Any) -> bool:
    """Tell whether a record is a message, or holds a list of messages."""
    match record:
        case {"messages": [first, *_]}:
            return _is_message(first)
        case _:
            return _is_message(record)


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Yield a trace of bare messages, or one per record with a list."""
    if _is_message(records[0].content):
        yield chat_trace({}, _messages([record.content for record in records]), shared_name(records))
        return
    for record in records:
        yield chat_trace(record.content, _messages(record.content["messages"]), record.name)


def _is_message(record: Any) -> bool:
    return isinstance(record, Mapping) and {"source", "type", "models_usage"} <= record.keys()


def _messages(dumped: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    roles = {message["source"]: "assistant" for message in dumped if message["type"] == "CodeGenerationEvent"}
    held = (message for message in dumped if message["type"] not in _LEFT_OUT)
    return chain.from_iterable(_told(message, roles.get(message["source"], "user")) for message in held)


def _told(message: Mapping[str, Any], uncounted: str) -> Iterator[dict[str, Any]]:
    """Yield a message as chat messages; one without counted tokens has the role `uncounted`."""
    match message:
        case {"type": "ToolCallRequestEvent", "content": calls, "models_usage": usage}:
            yield {"role": "assistant", "tool_calls": calls, "usage": usage}
        case {"type": "ToolCallExecutionEvent", "content": results}:
            yield from ({"role": "tool", "tool_call_id": result["call_id"], "content": result} for result in results)
        case {"type": "CodeGenerationEvent", "content": text, "code_blocks": blocks}:
            calls = [{"name": block["language"], "arguments": block["code"]} for block in blocks]
            if calls:
                calls[-1]["id"] = _LAST_BLOCK
            yield {"role": "assistant", "content": text, "tool_calls": calls}
        case {"type": "CodeExecutionEvent", "result": {"exit_code": status, "output": output}}:
            yield {"role": "tool", "tool_call_id": _LAST_BLOCK, "content": {"output": output, "is_error": status != 0}}
        case {"content": content, "models_usage": usage}:
            yield {"role": uncounted if usage is None else "assistant", "content": content, "usage": usage}
