"""Which names a contract lets live on after a step."""

import ast
from collections.abc import Iterable, Iterator

from carryover.tasks.running.syntax import parse_python
from carryover.tasks.runtime.lifetime import Bound, Lifetime


class Bindings:
    """The names of an episode with how each was bound last, as far as the lifetime asks for it."""

    def __init__(self, lifetime: Lifetime) -> None:
        self.bound: dict[str, Bound] = {}
        self._lifetime = lifetime

    def survivors(self, names: tuple[str, ...], step: int, code: str) -> tuple[str, ...]:
        """Return those of the names that outlive the step, in their order."""
        anew = names_bound_by(code, step) if self._lifetime.keeps == "some" else {}
        unseen = Bound(step, is_definition=False)
        self.bound = {name: anew.get(name) or self.bound.get(name, unseen) for name in names}
        return tuple(name for name in names if self._lifetime.survives(self.bound[name], step))


def names_bound_by(code: str, step: int) -> dict[str, Bound]:
    """Return every name that a block may bind, at any depth; none for a block that does not parse.

    A name that is defined and also assigned to counts as assigned to.
    """
    found: dict[str, Bound] = {}
    for name, is_definition in _stored(nodes_of(code)):
        is_only_defined = is_definition and (name not in found or found[name].is_definition)
        found[name] = Bound(step, is_only_defined)
    return found


def nodes_of(code: str) -> Iterator[ast.AST]:
    """Return all nodes of a block's syntax tree; none for a block that does not parse."""
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
