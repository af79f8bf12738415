"""Items of OpenAI's Responses API: calls and their outputs."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from carryover.tasks.readers.described import chat_trace
from carryover.tasks.readers.reader import Record, shared_name
from carryover.tasks.readers.responses_items import ITEM_KINDS, messages_of_items
from carryover.tasks.readers.trace import Trace

LAYOUT = "items of the Responses API"
JOINS_RECORDS = True
_LISTS = ("messages", "input", "items", "output")
"""Keys of a record's lists of items, oldest first."""


def detect(record: Any) -> bool:
    """Tell whether a record is a call's item or holds items."""
    if not isinstance(record, Mapping):
        return False
    return _is_item(record) or any(item.get("type") in ITEM_KINDS for item in _items(record))


def _is_item(record: Mapping[str, Any]) -> bool:
    kind = record.get("type")
    if kind in ("response_item", "session_meta"):  # lines of a session of Codex
        return isinstance(record.get("payload"), Mapping)
    if kind == "message" and isinstance(record.get("content"), list):
        return any(part.get("type") in ("input_text", "output_text") for part in record["content"])
    return kind in ITEM_KINDS


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Yield a trace of bare items, or one per chain of responses."""
    if not any(isinstance(records[0].content.get(key), list) for key in _LISTS):
        lines = [record.content for record in records if record.content.get("type") != "session_meta"]
        items = [line.get("payload") or line for line in lines]
        yield chat_trace({}, messages_of_items(items), shared_name(records))
        return
    for linked in _chains(records):
        items = list(chain.from_iterable(_items(record.content) for record in linked))
        yield chat_trace(linked[0].content, messages_of_items(items), linked[0].name)


def _chains(records: Sequence[Record]) -> Iterator[list[Record]]:
    """Yield the records that continue one another, by `previous_response_id`."""
    chains: dict[str, list[Record]] = {}
    for record in records:
        earlier = chains.pop(str(record.content.get("previous_response_id")), [])
        chains[str(record.content.get("id") or record.place)] = [*earlier, record]
    yield from chains.values()


def _items(record: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for key in _LISTS:
        if isinstance(held := record.get(key), list):
            yield from (item for item in held if isinstance(item, Mapping))
