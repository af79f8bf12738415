"""The protocol of a reader, and the known readers."""

from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, NamedTuple, Protocol, cast

ENTRY_POINTS = "carryover.readers"
"""Group of entry points under which a package offers readers: modules or objects that keep the protocol."""
MALFORMED = (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError)
"""Errors of a reader whose record differs from its layout."""
_LAYOUTS = (
    "companions",
    "authors",
    "atif",
    "inspect_log",
    "openhands",
    "swe_agent",
    "mini_swe_agent",
    "smolagents",
    "rlm",
    "open_interpreter",
    "chatgpt_export",
    "claude_code",
    "openinference",
    "opentelemetry",
    "langchain",
    "pydantic_ai",
    "autogen",
    "responses",
    "gemini",
    "notebook",
    "verifiers",
    "prompt_completion",
    "chat",
    "message_list",
    "transcript",
)
"""Modules in the order in which they are asked; the more particular layouts come first."""


class Record(NamedTuple):
    """One JSON value of a source: line, row, element or file."""

    content: Any
    place: str
    """Where it stands, for a person: `line 3 of FILE`."""
    name: str
    """Identifier for a trace that names none itself."""
    file: Any
    """Path of the file, in a folder or in a zip."""


def shared_name(records: Sequence[Record]) -> str:
    """Return the name of joined records: their file's, without numbers."""
    return records[0].name.rpartition("-")[0] or records[0].name


class Reader(Protocol):
    """Reads one layout.

    A module with these names is a reader, and so is any object.
    """

    @property
    def LAYOUT(self) -> str:  # noqa: N802 - a constant of a module
        """Name of the layout."""
        ...

    @property
    def JOINS_RECORDS(self) -> bool:  # noqa: N802
        """Whether a trace spans the records of a file, as events do."""
        ...

    def detect(self, record: Any) -> bool:
        """Tell whether a record is of the layout, by its content."""
        ...

    def read(self, records: Sequence[Record]) -> Iterator[Any]:
        """Yield the traces of a record, or of a file's records."""
        ...


@cache
def all_readers() -> tuple[Reader, ...]:
    """Return the readers, those of other packages first."""
    foreign = [found.load() for found in sorted(entry_points(group=ENTRY_POINTS), key=lambda found: found.name)]
    own = [import_module(f"carryover.tasks.readers.layouts.{name}") for name in _LAYOUTS]
    return tuple(cast(Reader, reader) for reader in (*foreign, *own))


def find_reader(record: Any) -> Reader | None:
    """Return the first reader that knows a record; null for none."""
    for reader in all_readers():
        if _knows(reader, record):
            return reader
    return None


def _knows(reader: Reader, record: Any) -> bool:
    try:
        return reader.detect(record)
    except MALFORMED:  # a field holds what the layout does not have there
        return False
