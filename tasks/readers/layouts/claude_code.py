"""Session files of Claude Code: a line per event."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from carryover.tasks.readers.described import chat_trace
from carryover.tasks.readers.reader import Record, shared_name
from carryover.tasks.readers.trace import Trace

LAYOUT = "a session of Claude Code"
JOINS_RECORDS = True
_BOOKKEEPING = ("summary", "file-history-snapshot", "queue-operation", "permission-mode", "progress", "system")


def detect(record: Any) -> bool:
    """Tell whether a record is a line of a session."""
    if not isinstance(record, Mapping) or not isinstance(record.get("type"), str):
        return False
    is_ours = any(field in record for field in ("sessionId", "parentUuid", "leafUuid", "messageId"))
    is_streamed = "session_id" in record and record["type"] in ("system", "assistant", "user")
    is_message = record["type"] in ("user", "assistant") and isinstance(record.get("message"), Mapping)
    return (is_ours or is_streamed) and (is_message or record["type"] in _BOOKKEEPING)


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Yield a trace per session and side chain.

    Each command of its shell runs in a process of its own.
    """
    lines = [record.content for record in records if _is_message(record.content)]
    name = shared_name(records)
    for (session, is_side_chain), group in groupby(sorted(lines, key=_conversation), key=_conversation):
        messages = _messages(list(group))
        trace_id = (session or name) + ("-sidechain" if is_side_chain else "")
        yield chat_trace({}, messages, trace_id, has_fresh_processes=True)


def _is_message(line: Any) -> bool:
    return isinstance(line, Mapping) and line.get("type") in ("user", "assistant") and "message" in line


def _conversation(line: Mapping[str, Any]) -> tuple[str, bool]:
    return str(line.get("sessionId") or line.get("session_id") or ""), bool(line.get("isSidechain"))


def _messages(lines: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages, with lines of one reply joined."""
    messages: list[dict[str, Any]] = []
    for line in lines:
        message = dict(line["message"])
        last = {}
        if messages:
            last = messages[-1]
        is_same = message.get("id") is not None and message.get("id") == last.get("id")
        if is_same and isinstance(message["content"], list) and isinstance(last["content"], list):
            last["content"] = [*last["content"], *message["content"]]
        else:
            messages.append(message)
    return messages
