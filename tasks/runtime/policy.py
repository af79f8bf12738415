"""A static check of a block before it runs: advice to the model about what to leave alone.

It is not the wall. Code can reach anything by names built at run time; the sandbox is what holds it.
"""

import ast
from collections.abc import Iterator

from pydantic import BaseModel, ConfigDict

from tasks.running.syntax import parse_python
from tasks.runtime.protocol import Violation


class StaticPolicy(BaseModel):
    """What blocks may import, call and reach into (arXiv 2601.01569, static checks); empty for no check."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    allowed_imports: tuple[str, ...] | None = None
    """Root modules that may be imported; null for all that are not denied."""
    denied_imports: tuple[str, ...] = ()
    """Root modules that may not be imported, submodules included."""
    denied_calls: tuple[str, ...] = ()
    """Functions that may not be called, by name (`eval`) or dotted path (`os.system`)."""
    denied_attributes: tuple[str, ...] = ()
    """Attributes that may not be reached, e.g. `__globals__`."""

    def violations(self, code: str) -> tuple[Violation, ...]:
        """Return the violations in a block, in the order of its lines; none for a block that does not parse."""
        if self.allowed_imports is None and not (self.denied_imports or self.denied_calls or self.denied_attributes):
            return ()
        try:
            tree = parse_python(code)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return ()
        found = {violation for node in ast.walk(tree) for violation in self._violations_of(node)}
        return tuple(sorted(found, key=lambda violation: (violation.line, violation.rule, violation.name)))

    def _violations_of(self, node: ast.AST) -> Iterator[Violation]:
        match node:
            case ast.Import(names=names):
                for alias in names:
                    yield from self._import(alias.name, node.lineno)
            case ast.ImportFrom(module=str(module), level=0):
                yield from self._import(module, node.lineno)
            case ast.Call(func=function) if (name := _dotted(function)) in self.denied_calls and name:
                yield Violation("call", name, node.lineno)
            case ast.Attribute(attr=name) if name in self.denied_attributes:
                yield Violation("attribute", name, node.lineno)

    def _import(self, module: str, line: int) -> Iterator[Violation]:
        root = module.partition(".")[0]
        is_allowed = self.allowed_imports is None or root in self.allowed_imports
        if root in self.denied_imports or not is_allowed:
            yield Violation("import", root, line)


def describe_violations(violations: tuple[Violation, ...]) -> str:
    """Return the text in place of a run, in one line: what is forbidden where, and what to do."""
    places = [f"{violation.rule} of {violation.name} (line {violation.line})" for violation in violations]
    return f"PolicyViolation: the block was not run; rewrite it without {', '.join(places)}"


def _dotted(node: ast.expr) -> str:
    """Return `a.b.c` for a chain of attributes on a name, else nothing."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=name):
            start = _dotted(value)
            return f"{start}.{name}" if start else ""
    return ""
