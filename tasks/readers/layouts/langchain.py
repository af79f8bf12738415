"""Messages of LangChain, as `messages_to_dict`, `dumpd` or `model_dump` writes them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from carryover.tasks.readers.conversation import text_of
from carryover.tasks.readers.described import chat_trace
from carryover.tasks.readers.reader import Record, shared_name
from carryover.tasks.readers.trace import Trace

LAYOUT = "messages of LangChain"
JOINS_RECORDS = True


def detect(record: Any) -> bool:
    """Tell whether a record is a message, or holds a list of messages."""
    match record:
        case {"messages": [first, *_]}:
            return _fields_of(first) is not None
        case _:
            return _fields_of(record) is not None


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Yield a trace of bare messages, or one per record with a list."""
    if _fields_of(records[0].content) is not None:
        messages = [_message(record.content) for record in records]
        yield chat_trace({}, messages, shared_name(records))
        return
    for record in records:
        yield chat_trace(record.content, map(_message, record.content["messages"]), record.name)


def _fields_of(message: Any) -> Mapping[str, Any] | None:
    """Return a message's fields, with its type; null for anything else."""
    match message:
        case {"type": str(kind), "data": {"content": _} as fields}:
            return {**fields, "type": kind}
        case {"lc": int(), "type": "constructor", "id": [*_, str(name)], "kwargs": {"content": _} as fields}:
            return {"type": name.removesuffix("Chunk").removesuffix("Message").lower(), **fields}
        case {"type": str(), "content": _, "additional_kwargs": _}:
            return message
        case _:
            return None


def _message(dumped: Any) -> dict[str, Any]:
    fields = _fields_of(dumped)
    if fields is None:
        raise ValueError(f"a message without fields: {str(dumped)[:60]}")
    message = {**fields, "role": fields["type"].removesuffix("MessageChunk").lower()}
    message["usage"] = fields.get("usage_metadata")
    if message.get("tool_calls"):
        message["content"] = text_of(fields)  # Anthropic's calls stand in its parts too
    else:
        message["tool_calls"] = fields.get("additional_kwargs", {}).get("tool_calls")
    if message.get("status") == "error":
        message["content"] = {"output": message["content"], "is_error": True}
    return message
