"""Contents of the Gemini API, as its REST interface or its Python package writes them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from carryover.tasks.readers.described import chat_trace
from carryover.tasks.readers.gemini_parts import has_parts, messages_of_contents
from carryover.tasks.readers.reader import Record, shared_name
from carryover.tasks.readers.trace import Trace

LAYOUT = "contents of the Gemini API"
JOINS_RECORDS = True


def detect(record: Any) -> bool:
    """Tell whether a record is a content, or a request with contents."""
    if not isinstance(record, Mapping):
        return False
    contents = record.get("contents")
    if isinstance(contents, list):
        return any(map(has_parts, contents))
    return has_parts(record)


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Yield a trace of bare contents, or one per request."""
    if "contents" not in records[0].content:
        contents = [record.content for record in records]
        yield chat_trace({}, messages_of_contents(contents), shared_name(records))
        return
    for record in records:
        candidates = record.content.get("candidates") or ()
        answers = [candidate["content"] for candidate in candidates[:1]]
        contents = [*record.content["contents"], *answers]
        yield chat_trace(record.content, messages_of_contents(contents), record.name)
