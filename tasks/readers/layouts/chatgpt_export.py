"""ChatGPT's data export: trees of messages, read to `current_node`."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from carryover.tasks.readers.described import chat_trace
from carryover.tasks.readers.reader import Record
from carryover.tasks.readers.trace import Trace

LAYOUT = "a ChatGPT export"
JOINS_RECORDS = False


def detect(record: Any) -> bool:
    """Tell whether a record is a conversation with a tree of messages."""
    mapping = record.get("mapping") if isinstance(record, Mapping) else None
    if not isinstance(mapping, Mapping) or not mapping:
        return False
    return all(isinstance(node, Mapping) and ("parent" in node or "children" in node) for node in mapping.values())


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Yield one trace per conversation."""
    for record in records:
        messages = chain.from_iterable(map(_messages, _branch(record.content)))
        yield chat_trace(record.content, messages, record.name)


def _branch(conversation: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    mapping = conversation["mapping"]
    parents = {node.get("parent") for node in mapping.values()}
    leaves = [key for key in mapping if key not in parents]
    at = conversation.get("current_node") or (leaves[-1] if leaves else None)
    branch: list[Mapping[str, Any]] = []
    while at in mapping and len(branch) <= len(mapping):
        branch.append(mapping[at])
        at = mapping[at].get("parent")
    return branch[::-1]


def _messages(node: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    message = node.get("message")
    if not message:
        return
    role = message["author"]["role"]
    text = _text(message.get("content") or {})
    recipient = message.get("recipient") or "all"
    if role == "assistant" and recipient != "all":
        call = {"name": recipient, "arguments": text, "id": message.get("id")}
        yield {"role": role, "content": "", "tool_calls": [call]}
    elif role == "tool" and message["author"].get("name") not in (None, "python"):
        yield {"role": "user", "content": text}
    elif text or role == "tool":
        yield {"role": role, "content": text}


def _text(content: Mapping[str, Any]) -> str:
    return content.get("text") or "".join(part for part in content.get("parts") or () if isinstance(part, str))
