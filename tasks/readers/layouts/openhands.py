"""OpenHands: its events, its SDK's, and `output.jsonl`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from carryover.tasks.readers.described import chat_trace
from carryover.tasks.readers.openhands_events import messages_of_events
from carryover.tasks.readers.reader import Record, shared_name
from carryover.tasks.readers.trace import Trace

LAYOUT = "events of OpenHands"
JOINS_RECORDS = True
JOINS_FILES = True
"""Files of one event each, in a folder, are a trace together."""


def detect(record: Any) -> bool:
    """Tell whether a record is an event or a history."""
    if not isinstance(record, Mapping):
        return False
    history = record.get("history")
    if isinstance(history, list) and history:
        first = history[0]
        return any(map(_is_event, first if isinstance(first, list) else [first]))
    return _is_event(record)


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Yield a trace of bare events, or one per history."""
    if "history" not in records[0].content:
        ordered = sorted(records, key=_number)
        yield chat_trace({}, messages_of_events([record.content for record in ordered]), _name(records))
        return
    for record in records:
        events = []
        for each in record.content["history"]:
            events += each if isinstance(each, list) else [each]
        yield chat_trace(record.content, messages_of_events(events), record.content.get("instance_id") or record.name)


def _number(record: Record) -> int:
    """Return an event's number, which its file's name may not follow."""
    number = record.content.get("id")
    return number if isinstance(number, int) else 0


def _name(records: Sequence[Record]) -> str:
    """Return the name of the events' file, or their files' folder."""
    first = records[0]
    if len({str(record.file) for record in records}) == 1:
        return shared_name(records)
    folders = [part for part in str(first.file).split("/")[:-1] if part != "events"]
    return folders[-1] if folders else first.name


def _is_event(event: Any) -> bool:
    if not isinstance(event, Mapping):
        return False
    is_typed = str(event.get("kind")).endswith("Event")
    return "source" in event and (is_typed or "action" in event or "observation" in event)
