"""Top-level statements of a block with the names that each binds, reads and imports."""

import ast
import re
from collections.abc import Collection
from typing import NamedTuple

from carryover.tasks.running.syntax import parse_python
from carryover.tasks.traces.events import NameEvent, parse_block

DATA_CONSTANTS = 3
"""Constants from which on a literal collection counts as data, not as an initial value."""
_WORD = re.compile(r"\w+")
_COMPUTED = (ast.Name, ast.Call, ast.JoinedStr, ast.Lambda, ast.comprehension)
_DECLARING = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_PASSING = (ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith)


class Statement(NamedTuple):
    """A top-level statement; statements that share a line count as one."""

    source: str
    binds: frozenset[str]
    reads: frozenset[str]
    """Names that are read before the block binds them itself; also in functions, which run later."""
    imports: frozenset[str]
    """Root modules."""
    data: frozenset[str]
    """Words and numbers of the collections that it writes out literally."""
    shape: str
    """Its syntax tree without places; empty for loops and `with`, whose targets are no state to keep."""
    is_declaration: bool
    """Whether it only imports, defines a function or class, or assigns literals."""


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


def words_of(text: str) -> frozenset[str]:
    """Return the words and numbers of a text."""
    return frozenset(_WORD.findall(text))


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
    statements = tuple(_statement(code, nodes, events) for nodes in _nodes_by_line(parse_python(code)))
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


def _nodes_by_line(tree: ast.Module) -> list[list[ast.stmt]]:
    """Return the top-level nodes, those that share a line together."""
    groups: list[list[ast.stmt]] = []
    for node in tree.body:
        if groups and _first_line(node) <= _last_line(groups[-1][-1]):
            groups[-1].append(node)
        else:
            groups.append([node])
    return groups


def _statement(code: str, nodes: list[ast.stmt], events: Collection[NameEvent]) -> Statement:
    first, last = _first_line(nodes[0]), _last_line(nodes[-1])
    inside = [event for event in events if first <= event.line <= last]
    return Statement(
        source="\n".join(code.splitlines()[first - 1 : last]),
        binds=_names(inside, "bind"),
        reads=_names(inside, "read"),
        imports=_names(inside, "import"),
        data=frozenset[str]().union(*map(_data, nodes)),
        shape="" if any(isinstance(node, _PASSING) for node in nodes) else "; ".join(map(ast.dump, nodes)),
        is_declaration=all(map(_is_declaration, nodes)),
    )


def _is_declaration(node: ast.stmt) -> bool:
    if isinstance(node, ast.Assign | ast.AnnAssign):
        return node.value is not None and not any(isinstance(part, _COMPUTED) for part in ast.walk(node.value))
    return isinstance(node, _DECLARING)


def _data(node: ast.stmt) -> frozenset[str]:
    """Return the words of a collection that is assigned literally; none for a short one or for anything computed."""
    value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
    if not isinstance(value, ast.List | ast.Tuple | ast.Set | ast.Dict):
        return frozenset()
    parts = list(ast.walk(value))
    if any(isinstance(part, _COMPUTED) for part in parts):
        return frozenset()
    constants = [str(part.value) for part in parts if isinstance(part, ast.Constant)]
    return words_of(" ".join(constants)) if len(constants) >= DATA_CONSTANTS else frozenset()


def _first_line(node: ast.stmt) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", []))])


def _last_line(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _names(events: Collection[NameEvent], kind: str) -> frozenset[str]:
    return frozenset(event.name for event in events if event.kind == kind)
