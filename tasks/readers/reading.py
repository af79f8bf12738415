"""Traces of files, folders and values, in whatever documented layout they lie."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from carryover.tasks.readers.files import read_files
from carryover.tasks.readers.reader import MALFORMED, Reader, Record, all_readers, find_reader
from carryover.tasks.readers.tally import Tally
from carryover.tasks.readers.trace import Trace, check_types
from carryover.tasks.services.errors import UserError

_COMPANIONS = "companions"
_LOOKED_AT = 50
"""Records that are looked at to tell the layout of a trace that spans them."""


def read_traces(path: Path, tally: Tally | None = None) -> Iterator[Trace]:
    """Yield traces of a file, folder or zip, counting unread ones.

    Raise `UserError` where there is nothing at `path`.
    """
    if not path.exists():
        raise UserError(f"no file {path}; name a trace file or a folder")
    counted = Tally() if tally is None else tally
    for records in _with_files_joined(read_files(path, counted)):
        yield from read_records(records, counted)


def _with_files_joined(files: Iterable[Iterator[Record]]) -> Iterator[Iterator[Record]]:
    """Yield each file's records, joining files of one event each."""
    events: list[Record] = []
    for records in files:
        ahead = list(islice(records, 2))
        if len(ahead) == 1 and _is_event_of_folder(ahead[0]):
            if events and not _lie_together(events[-1], ahead[0]):
                yield iter(events)
                events = []
            events += ahead
        else:
            yield chain(ahead, records)
    if events:
        yield iter(events)


def _is_event_of_folder(record: Record) -> bool:
    reader = None if isinstance(record.content, list) else find_reader(record.content)
    return reader is not None and getattr(reader, "JOINS_FILES", False) and "history" not in record.content


def _lie_together(first: Record, second: Record) -> bool:
    """Tell whether two records' files lie in one folder."""
    return str(first.file).rpartition("/")[0] == str(second.file).rpartition("/")[0]


def read_value(content: Any, tally: Tally, name: str = "trace") -> Iterator[Trace]:
    """Yield the traces of a record or list of records."""
    listed = content if isinstance(content, list) else [content]
    records = (
        Record(each, f"element {number} of the value", f"{name}-{number}", None)
        for number, each in enumerate(listed, start=1)
    )
    yield from read_records(records, tally)


def read_records(records: Iterable[Record], tally: Tally) -> Iterator[Trace]:
    """Yield the traces of a file's records.

    A layout that joins them takes all records that remain.
    """
    remaining = iter(records)
    for record in remaining:
        reader = None if isinstance(record.content, list) else find_reader(record.content)
        if reader is None:
            yield from _read_unknown(record, tally)
        elif reader.JOINS_RECORDS:
            joined = [record, *remaining]
            yield from _read_group(_reader_of_all(joined), joined, tally)
        else:
            yield from _read_group(reader, [record], tally)


def _reader_of_all(records: list[Record]) -> Reader:
    """Return the most particular reader of the first records.

    An event log may begin with a plain message.
    """
    found = [find_reader(record.content) for record in records[:_LOOKED_AT]]
    joining = [reader for reader in found if reader is not None and reader.JOINS_RECORDS]
    return min(joining, key=all_readers().index)


def _read_unknown(record: Record, tally: Tally) -> Iterator[Trace]:
    """Read a list of records; count anything else as unread."""
    content = record.content
    if isinstance(content, list) and content:
        inner = (Record(each, record.place, record.name, record.file) for each in content)
        yield from read_records(inner, tally)
        return
    held = None
    if isinstance(content, dict) and content:
        held = f"an object with {', '.join(map(str, list(content)[:6]))}"
    tally.skip("unknown layout", f"{record.place}, {held or f'{type(content).__name__} {str(content)[:40]!r}'}")


def _read_group(reader: Reader, records: list[Record], tally: Tally) -> Iterator[Trace]:
    layout = reader.LAYOUT
    if layout == _COMPANIONS:
        tally.companions[layout] += len(records)
        return
    try:
        found = list(reader.read(records))
        for trace in found:
            check_types(trace)
    except MALFORMED as error:
        said = " ".join(str(error).split())[:120]
        tally.skip(f"differs from {layout}", f"{records[0].place}: {type(error).__name__} {said}")
        return
    traces = [trace for trace in found if trace.replies or trace.finish_reason]
    if not traces:
        tally.skip(f"no reply of an agent in {layout}", records[0].place)
    for trace in traces:
        placed = replace(trace, layout=layout, place=records[0].place)
        tally.count(placed)
        yield placed
