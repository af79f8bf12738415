"""Chat data sets: OpenAI's, Anthropic's or ShareGPT's messages."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from carryover.tasks.readers.conversation import json_or_none, role_of
from carryover.tasks.readers.described import chat_trace
from carryover.tasks.readers.reader import Record
from carryover.tasks.readers.trace import Trace

LAYOUT = "a chat data set"
JOINS_RECORDS = False
_LIST_FIELDS = (
    "messages",
    "conversations",
    "conversation",
    "trajectory",
    "history",
    "chat_history",
    "dialog",
    "chat",
    "turns",
    "chosen",
)


def detect(record: Any) -> bool:
    """Tell whether a record holds messages that name their authors."""
    return isinstance(record, Mapping) and bool(_messages(record))


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Yield one trace per record; of our episodes, first blocks ran."""
    for record in records:
        content = record.content
        declaration = str(content.get("declaration") or "")
        is_ours = bool(declaration) and '"source": "import"' not in declaration
        columns = json.loads(content.get("episode") or "{}") if declaration else {}
        yield chat_trace(content, _messages(content), record.name, "first" if is_ours else "all", columns=columns)


def _messages(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    for field in _LIST_FIELDS:
        held = record.get(field)
        if isinstance(held, str) and held.lstrip().startswith("["):
            held = json_or_none(held)
        if not isinstance(held, list) or not held:
            continue
        first = next((each for each in held if each is not None), None)
        if isinstance(first, Mapping) and role_of(first):
            return held
    return []
