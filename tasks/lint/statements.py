"""Top-level statements of a block with the names that each binds, reads and imports."""

from collections.abc import Collection
from typing import NamedTuple

from tasks.running.syntax import parse_python
from tasks.traces.events import NameEvent, parse_block


class Statement(NamedTuple):
    """A top-level statement; statements that share a line count as one."""

    source: str
    binds: frozenset[str]
    reads: frozenset[str]
    """Names that are read before the block binds them itself; also in functions, which run later."""
    imports: frozenset[str]
    """Root modules."""


class Block(NamedTuple):
    """One block as the lint sees it."""

    is_parsed: bool
    statements: tuple[Statement, ...]
    binds: frozenset[str]
    reads: frozenset[str]
    """Names that must exist before the block runs."""
    imports: frozenset[str]
    imported_names: frozenset[str]


NOT_PARSED = Block(
    is_parsed=False,
    statements=(),
    binds=frozenset(),
    reads=frozenset(),
    imports=frozenset(),
    imported_names=frozenset(),
)


def read_block(code: str, tools: Collection[str]) -> Block:
    """Return a block's statements and names; a block that is not valid Python has none.

    A name that a function reads must exist when the function is called, so a binding anywhere in the block will do;
    elsewhere only a binding before the read does.
    """
    parsed = parse_block(code, tools)
    if not parsed.is_parsed:
        return NOT_PARSED
    outer = _outer_reads(parsed.events)
    events = [event for event in parsed.events if event.kind != "read" or event.sequence in outer]
    statements = tuple(_statement(code, first, last, events) for first, last in _line_ranges(code))
    return Block(
        is_parsed=True,
        statements=statements,
        binds=_names(events, "bind"),
        reads=_names(events, "read") - frozenset(tools),
        imports=_names(events, "import"),
        imported_names=frozenset(parsed.imported_names),
    )


def _outer_reads(events: Collection[NameEvent]) -> set[int]:
    """Return the sequence numbers of reads that the block's own bindings do not serve."""
    bound_anywhere = {event.name for event in events if event.kind == "bind"}
    bound: set[str] = set()
    outer = set()
    for event in events:
        if event.kind == "bind" and not event.is_deferred:
            bound.add(event.name)
        elif event.kind == "read" and event.name not in (bound_anywhere if event.is_deferred else bound):
            outer.add(event.sequence)
    return outer


def _line_ranges(code: str) -> list[tuple[int, int]]:
    ranges: list[tuple[int, int]] = []
    for node in parse_python(code).body:
        decorators = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
        last = node.end_lineno or first
        if ranges and first <= ranges[-1][1]:
            first, last = ranges[-1][0], max(last, ranges[-1][1])
            ranges.pop()
        ranges.append((first, last))
    return ranges


def _statement(code: str, first: int, last: int, events: Collection[NameEvent]) -> Statement:
    inside = [event for event in events if first <= event.line <= last]
    return Statement(
        source="\n".join(code.splitlines()[first - 1 : last]),
        binds=_names(inside, "bind"),
        reads=_names(inside, "read"),
        imports=_names(inside, "import"),
    )


def _names(events: Collection[NameEvent], kind: str) -> frozenset[str]:
    return frozenset(event.name for event in events if event.kind == kind)
