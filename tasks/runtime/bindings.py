"""Names that a block binds, and the kind of each binding."""

import ast
from collections.abc import Iterable, Iterator

from carryover.tasks.running.syntax import parse_python
from carryover.tasks.runtime.lifetime import Bound


def names_bound_by(code: str, step: int) -> dict[str, Bound]:
    """Return every name that a block may bind, at any depth; empty for a block that does not parse.

    A name that is defined and also assigned to counts as assigned to.
    """
    found: dict[str, Bound] = {}
    for name, is_definition in _stored(nodes_of(code)):
        is_only_defined = is_definition and (name not in found or found[name].is_definition)
        found[name] = Bound(step, is_only_defined)
    return found


def nodes_of(code: str) -> Iterator[ast.AST]:
    """Return all nodes of a block's syntax tree; empty for a block that does not parse."""
    try:
        return ast.walk(parse_python(code))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return iter(())


def _stored(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, bool]]:
    """Yield names, and whether each is bound by a definition."""
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Store()):
                yield name, False
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, True
            case ast.alias(name=name, asname=alias):
                yield alias or name.partition(".")[0], False
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                yield name, False
