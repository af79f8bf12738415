"""A transcript in plain text, whose blocks ran in turn."""

from collections.abc import Iterator, Sequence
from typing import Any

from carryover.tasks.readers.reader import Record
from carryover.tasks.readers.text_blocks import code_in_text
from carryover.tasks.readers.trace import Trace

LAYOUT = "a transcript"
JOINS_RECORDS = False


def detect(record: Any) -> bool:
    """Tell whether a record is text with a block of code."""
    return isinstance(record, str) and bool(code_in_text(record).blocks)


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Yield the text as one reply."""
    for record in records:
        code = code_in_text(record.content)
        reply = code.reply(record.content)
        yield Trace(trace_id=record.name, replies=(reply,))
