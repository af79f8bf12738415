"""Messages of open-interpreter (LMC), with code and console apart."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from carryover.tasks.readers.described import chat_trace
from carryover.tasks.readers.reader import Record, shared_name
from carryover.tasks.readers.trace import Trace

LAYOUT = "messages of open-interpreter"
JOINS_RECORDS = True


def detect(record: Any) -> bool:
    """Tell whether a record is a code or console message.

    A conversation with one counts too.
    """
    if not isinstance(record, Mapping):
        return False
    messages = record.get("messages")
    if isinstance(messages, list):
        return any(map(_is_own, messages))
    return _is_own(record)


def _is_own(record: Any) -> bool:
    is_message = isinstance(record, Mapping) and "content" in record
    return is_message and (record.get("role"), record.get("type")) in (("assistant", "code"), ("computer", "console"))


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Yield a trace of bare messages, or one per record."""
    if "messages" not in records[0].content:
        messages = [record.content for record in records]
        yield chat_trace({}, map(_plain, filter(_is_told, messages)), shared_name(records))
        return
    for record in records:
        messages = record.content["messages"]
        yield chat_trace(record.content, map(_plain, filter(_is_told, messages)), record.name)


def _is_told(message: Mapping[str, Any]) -> bool:
    """Tell whether a message is neither bookkeeping nor a picture.

    The line of code that runs is bookkeeping.
    """
    is_line = message.get("type") == "console" and message.get("format", "output") != "output"
    return not is_line and message.get("type") != "image"


def _plain(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message as chat: code calls and computer results."""
    content = str(message.get("content") or "")
    if message.get("type") == "code":
        arguments = {"code": content, "language": message.get("format")}
        return {"role": "assistant", "tool_calls": [{"name": "execute", "arguments": arguments}]}
    return {"role": "tool" if message["role"] == "computer" else message["role"], "content": content}
