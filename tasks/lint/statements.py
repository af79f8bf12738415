"""Top-level statements of a block, with names bound, read, imported."""

import ast
import re
from collections.abc import Collection, Iterable
from itertools import chain
from typing import NamedTuple

from carryover.tasks.lint.dialect import DELETED, GUARDED, SHADOWING, plain_block
from carryover.tasks.services.syntax import UNPARSABLE, parse_python
from carryover.tasks.traces.events import parse_block
from carryover.tasks.traces.walker import BUILTIN_NAMES, NameEvent

DATA_CONSTANTS = 3
"""Constants from which on a literal collection counts as data, not as an initial value."""
_BINDING = re.compile(
    r"^[ \t]*+\(?+(?P<targets>[\w, \t*]++)\)?[ \t]*+(?::[^=\n]+)?=(?!=)"
    r"|\bimport[ \t]+(?P<imported>\([^)]*\)|[^\n#;]+)"
    r"|\b(?:def|class|as)[ \t]+(?P<defined>\w+)|\b(?P<walrus>\w+)[ \t]*:="
    r"|\bfor[ \t]+(?P<loop>[\w, \t()*]{1,200}?)[ \t]in\b",
    re.MULTILINE,
)
"""Text that may bind names; possessive, so that hostile text takes linear time."""
_WORD = re.compile(r"\w+")
_LINE_END = re.compile(r"\r\n?|\n")
"""What ends a line of Python; `splitlines` knows more."""
_COMPUTED = (ast.Name, ast.Call, ast.JoinedStr, ast.Lambda, ast.comprehension)
_DECLARING = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_PASSING = (ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith)


class Statement(NamedTuple):
    """A top-level statement; statements that share a line count as one."""

    source: str
    binds: frozenset[str]
    reads: frozenset[str]
    """Names that are read before the block binds them itself; also in functions, which run later."""
    imports: frozenset[tuple[str, str]]
    """Root modules, each with the name that the import binds."""
    data: frozenset[str]
    """Words and numbers of the collections that it writes out literally."""
    shape: str
    """Its syntax tree without places; empty for loops and `with`, whose targets are not kept as state."""
    is_declaration: bool
    """Whether it only imports, defines a function or class, or assigns literals."""
    first_line: int


class LintBlock(NamedTuple):
    """One block as the lint sees it."""

    is_judged: bool = False
    """Whether all its names are known: it is Python, and runs no computed text."""
    statements: tuple[Statement, ...] = ()
    binds: frozenset[str] = frozenset()
    """Names that it leaves bound."""
    deletes: frozenset[str] = frozenset()
    """Names that it deletes and does not bind again."""
    reads: frozenset[str] = frozenset()
    """Names that must exist before the block runs."""
    imports: frozenset[tuple[str, str]] = frozenset()
    """Root modules, each with a name that an import binds."""
    imported_names: frozenset[str] = frozenset()
    has_star_import: bool = False
    dead_reads: frozenset[str] = frozenset()
    """Names that it reads after deleting them, so that it fails whatever ran before."""
    tree: ast.Module | None = None
    """Its syntax tree; null where it is not valid Python."""


def shadows_of(codes: Iterable[str]) -> frozenset[str]:
    """Return the names of builtins that blocks bind themselves."""
    bound: set[str] = set()
    for code in codes:
        for found in _BINDING.finditer(code):
            bound |= words_of(found[found.lastgroup or 0])
    return frozenset(bound & BUILTIN_NAMES)


def words_of(text: str) -> frozenset[str]:
    """Return the words and numbers of a text."""
    return frozenset(_WORD.findall(text))


def read_block(code: str, tools: Collection[str], shadows: frozenset[str] = frozenset()) -> LintBlock:
    """Return a block's statements and names; none if invalid Python.

    A name that a function reads must exist when the function is called, so a binding anywhere in the block will do;
    elsewhere only a binding before the read does.
    """
    try:
        plain = plain_block(code, shadows)
        plain_code = ast.unparse(plain.tree) if plain.is_rewritten else plain.source
        plain_tree = parse_python(plain_code) if plain.is_rewritten else plain.original
    except UNPARSABLE:
        return LintBlock()
    parsed = parse_block(plain_code, tools)
    if not parsed.is_parsed:
        return LintBlock()
    followed = _under_own_names(parsed.events)
    state = _follow(followed)
    events = [event for event in followed if event.kind != "read" or event.sequence in state.outer]
    lines = _Lines(_LINE_END.split(plain.source), _events_by_line(events))
    groups = _by_line(plain.original, plain_tree)
    return LintBlock(
        is_judged=not plain.is_opaque,
        statements=tuple(_statement(lines, group) for group in groups),
        binds=_names(events, "bind") - state.deleted,
        deletes=state.deleted,
        reads=_names(events, "read") - frozenset(tools) - state.dead,
        imports=_own_imports(plain.tree) if "import" in plain.source else frozenset(),
        imported_names=frozenset(map(_own_name, parsed.imported_names)) - state.deleted,
        has_star_import=plain.has_star_import,
        dead_reads=state.dead,
        tree=plain.original,
    )


def _under_own_names(events: Collection[NameEvent]) -> list[NameEvent]:
    """Return events under the names that the code has."""
    return [event._replace(name=_own_name(event.name)) for event in events]


def _own_imports(tree: ast.AST) -> frozenset[tuple[str, str]]:
    return frozenset((module, _own_name(name)) for module, name in _imports(tree))


def _own_name(name: str) -> str:
    return name.replace(SHADOWING, "")


def before_line(
    code: str, block: LintBlock, line: int, tools: Collection[str], shadows: frozenset[str] = frozenset()
) -> LintBlock:
    """Return a block as it is when a line's statement raises."""
    starts = [statement.first_line for statement in block.statements if statement.first_line <= line]
    if not starts:
        return block
    left = read_block("\n".join(_LINE_END.split(code)[: starts[-1] - 1]), tools, shadows)
    return block._replace(
        binds=left.binds, deletes=left.deletes, imports=left.imports, imported_names=left.imported_names
    )


def line_reading(block: LintBlock, name: str | None) -> int | None:
    """Return the line of the first read of an earlier name; None for no name."""
    return next((statement.first_line for statement in block.statements if name in statement.reads), None)


class _Followed(NamedTuple):
    """Result of following a block's bindings."""

    outer: frozenset[int]
    """Sequence numbers of the reads that its own bindings do not serve."""
    deleted: frozenset[str]
    dead: frozenset[str]


def _follow(events: Collection[NameEvent]) -> _Followed:
    following = _Following(frozenset(event.name for event in events if event.kind == "bind"))
    for event in events:
        if event.kind == "bind":
            following.bind(event)
        elif event.kind == "read":
            following.read(event)
    return _Followed(frozenset(following.outer), frozenset(following.deleted), frozenset(following.dead))


class _Following:
    """The bindings of a block while its events are gone through."""

    def __init__(self, bound_anywhere: frozenset[str]) -> None:
        self.outer: set[int] = set()
        self.deleted: set[str] = set()
        self.dead: set[str] = set()
        self._bound: set[str] = set()
        self._bound_anywhere = bound_anywhere

    def bind(self, event: NameEvent) -> None:
        """Bind a name, unless in a function, which runs later."""
        if not event.is_deferred:
            self._bound.add(event.name)
            self.deleted.discard(event.name)

    def read(self, event: NameEvent) -> None:
        """Read a name, or the marker of a deleted or guarded one."""
        if event.name.startswith(DELETED):
            name = event.name.removeprefix(DELETED)
            self._bound.discard(name)
            self.deleted.add(name)
        elif event.name in self.deleted and not event.is_deferred:
            self.dead.add(event.name)
            self.outer.add(event.sequence)
        elif not event.name.startswith(GUARDED):
            served = self._bound_anywhere if event.is_deferred else self._bound
            if event.name not in served:
                self.outer.add(event.sequence)


class _Lines(NamedTuple):
    """A block's lines, apart once for all of its statements."""

    sources: list[str]
    events: dict[int, list[NameEvent]]
    """Events by line of the plain source."""


def _events_by_line(events: Collection[NameEvent]) -> dict[int, list[NameEvent]]:
    by_line: dict[int, list[NameEvent]] = {}
    for event in events:
        by_line.setdefault(event.line, []).append(event)
    return by_line


def _statement(lines: _Lines, group: list[tuple[ast.stmt, ast.stmt]]) -> Statement:
    nodes, plain = zip(*group, strict=True)
    source = "\n".join(lines.sources[_first_line(nodes[0]) - 1 : _last_line(nodes[-1])])
    spanned = range(_first_line(plain[0]), _last_line(plain[-1]) + 1)
    inside = list(chain.from_iterable(lines.events.get(line, ()) for line in spanned))
    return Statement(
        source=source,
        binds=_names(inside, "bind"),
        reads=_names(inside, "read"),
        imports=frozenset[tuple[str, str]]().union(*map(_imports, nodes)) if "import" in source else frozenset(),
        data=frozenset[str]().union(*map(_data, nodes)),
        shape="" if any(isinstance(node, _PASSING) for node in nodes) else "; ".join(map(ast.dump, nodes)),
        is_declaration=all(isinstance(node, _DECLARING) or _literal(node) is not None for node in nodes),
        first_line=_first_line(nodes[0]),
    )


def _by_line(original: ast.Module, plain: ast.Module) -> list[list[tuple[ast.stmt, ast.stmt]]]:
    """Return the statements as written and plain, by line."""
    groups: list[list[tuple[ast.stmt, ast.stmt]]] = []
    for pair in zip(original.body, plain.body, strict=True):
        if groups and _first_line(pair[0]) <= _last_line(groups[-1][-1][0]):
            groups[-1].append(pair)
        else:
            groups.append([pair])
    return groups


def _imports(tree: ast.AST) -> frozenset[tuple[str, str]]:
    """Return the root modules imported in a tree, with bound names."""
    imported: set[tuple[str, str]] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            roots = [(alias.name.partition(".")[0], alias.asname) for alias in node.names]
            imported.update((root, name or root) for root, name in roots)
        elif isinstance(node, ast.ImportFrom):
            module = (node.module or ".").partition(".")[0]
            imported.update((module, alias.asname or alias.name) for alias in node.names)
    return frozenset(imported)


def _literal(node: ast.stmt) -> ast.expr | None:
    """Return the literal value that a statement assigns, if any."""
    value = None
    if isinstance(node, ast.Assign | ast.AnnAssign):
        value = node.value
    if value is None or any(isinstance(part, _COMPUTED) for part in ast.walk(value)):
        return None
    return value


def _data(node: ast.stmt) -> frozenset[str]:
    """Return the words of a literal collection; empty if short or computed."""
    value = _literal(node)
    if not isinstance(value, ast.List | ast.Tuple | ast.Set | ast.Dict):
        return frozenset()
    constants = [str(part.value) for part in ast.walk(value) if isinstance(part, ast.Constant)]
    if len(constants) >= DATA_CONSTANTS:
        return words_of(" ".join(constants))
    return frozenset()


def _first_line(node: ast.stmt) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", []))])


def _last_line(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _names(events: Collection[NameEvent], kind: str) -> frozenset[str]:
    return frozenset(event.name for event in events if event.kind == kind)
