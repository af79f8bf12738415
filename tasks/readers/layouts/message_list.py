"""One conversation as a bare list of messages, each with a role."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from carryover.tasks.readers.described import chat_trace
from carryover.tasks.readers.reader import Record, shared_name
from carryover.tasks.readers.trace import Trace

LAYOUT = "a list of messages"
JOINS_RECORDS = True
_HELD = ("content", "value", "tool_calls", "parts", "function_call")


def detect(record: Any) -> bool:
    """Tell whether a record is a message with role and content."""
    if not isinstance(record, Mapping):
        return False
    return isinstance(record.get("role", record.get("from")), str) and any(field in record for field in _HELD)


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Yield the one trace that the messages are."""
    yield chat_trace({}, [record.content for record in records], shared_name(records))
