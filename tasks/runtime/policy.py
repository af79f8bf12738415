"""A static check of a block: advice to the model.

It is not the wall. Code can reach anything by names built at run time; the sandbox is what holds it.
"""

import ast
from collections.abc import Iterator
from itertools import chain

from pydantic import Field

from carryover.tasks.runtime.lifetime import nodes_of
from carryover.tasks.runtime.results import Violation
from carryover.tasks.services.frozen_model import FrozenModel

_SHOWN_LIMIT = 100
"""Characters of a call that goes by no name."""


class StaticPolicy(FrozenModel):
    """Rules on imports, calls and attributes (arXiv 2601.01569); empty for none.

    What is denied stays so where it is allowed as well. A list of what is allowed is whole: a function that a block
    defines itself is called only by a name on it. A null list is left out of a plan and of its digest.
    """

    allowed_imports: tuple[str, ...] | None = None
    """Root modules that may be imported; null for all that are not denied."""
    denied_imports: tuple[str, ...] = ()
    """Root modules that may not be imported, submodules included."""
    allowed_calls: tuple[str, ...] | None = Field(default=None, exclude_if=lambda names: names is None)
    """Functions that may be called, by name (`len`), dotted path (`json.loads`) or as a method of whatever value
    (`.append`); null for all that are not denied."""
    denied_calls: tuple[str, ...] = ()
    """Functions that may not be called, by name (`eval`), dotted path (`os.system`) or method (`.system`)."""
    allowed_attributes: tuple[str, ...] | None = Field(default=None, exclude_if=lambda names: names is None)
    """Attributes that may be reached; null for all that are not denied."""
    denied_attributes: tuple[str, ...] = ()
    """Attributes that may not be reached, e.g. `__globals__`."""

    def violations(self, code: str) -> tuple[Violation, ...]:
        """Return a block's violations by line, if it parses."""
        if self == _NO_POLICY:
            return ()
        found = set(chain.from_iterable(map(self._violations_of, nodes_of(code))))
        return tuple(sorted(found, key=lambda violation: (violation.line, violation.rule, violation.name)))

    def _violations_of(self, node: ast.AST) -> Iterator[Violation]:
        match node:
            case ast.Import(names=names):
                for alias in names:
                    yield from self._import(alias.name, node.lineno)
            case ast.ImportFrom(module=str(module), level=0):
                yield from self._import(module, node.lineno)
            case ast.Call(func=function):
                yield from self._call(function, node.lineno)
            case ast.Attribute(attr=name):
                if name in self.denied_attributes or not _admits(self.allowed_attributes, {name}):
                    yield Violation("attribute", name, node.lineno)

    def _call(self, function: ast.expr, line: int) -> Iterator[Violation]:
        written = _dotted(function)
        names = {written} - {""}
        if isinstance(function, ast.Attribute):
            names.add(f".{function.attr}")
        if names.intersection(self.denied_calls) or not _admits(self.allowed_calls, names):
            yield Violation("call", written or ast.unparse(function)[:_SHOWN_LIMIT], line)

    def _import(self, module: str, line: int) -> Iterator[Violation]:
        root = module.partition(".")[0]
        if root in self.denied_imports or not _admits(self.allowed_imports, {root}):
            yield Violation("import", root, line)


_NO_POLICY = StaticPolicy()


def _admits(allowed: tuple[str, ...] | None, names: set[str]) -> bool:
    """Tell whether one of several names is on a list."""
    return allowed is None or not names.isdisjoint(allowed)


def describe_violations(violations: tuple[Violation, ...]) -> str:
    """Return a line on the violations, to replace a run's output.

    It gives each with its line, and the remedy.
    """
    places = [f"{violation.rule} of {violation.name} (line {violation.line})" for violation in violations]
    return f"PolicyViolation: the block was not run; rewrite it without {', '.join(places)}"


def _dotted(node: ast.expr) -> str:
    """Return `a.b.c` for a chain of attributes on a name, else nothing."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=name):
            start = _dotted(value)
            if start:
                return f"{start}.{name}"
            return ""
    return ""
