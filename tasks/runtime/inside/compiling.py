"""A block's code: its statements, and the expression that it ends in."""

import _ast
import re
from types import CodeType
from typing import Any, NamedTuple

_ONLY_AST = 0x400  # ast.PyCF_ONLY_AST; the module `ast` itself is not needed
_TOP_LEVEL_AWAIT = 0x2000  # ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_IS_COROUTINE = 0x80  # inspect.CO_COROUTINE
_FEATURES = 0x1FE0000
"""Bits of a code object that `from __future__` statements set."""
_STATEMENT = re.compile(r"(import|from|def|class|for|while|if|with|try|pass)\b|[A-Za-z_][\w.]*\s*=(?!=)")


class Compiled(NamedTuple):
    """Code objects, in order of execution."""

    statements: tuple[CodeType, ...]
    value: CodeType | None
    """The last expression, whose value is the block's."""

    @property
    def awaits(self) -> bool:
        """Whether the block has a top-level `await`."""
        return any(is_coroutine(code) for code in (*self.statements, self.value))

    @property
    def features(self) -> int:
        """Future features at the end, as flags for the next block."""
        if self.statements:
            return self.statements[-1].co_flags & _FEATURES
        return 0


def is_coroutine(code: CodeType | None) -> bool:
    """Tell whether running the code makes a coroutine."""
    return code is not None and code.co_flags & _IS_COROUTINE != 0


def compile_block(source: str, filename: str, features: int = 0) -> Compiled:
    """Return a block's code, with earlier future features.

    Raise what `compile` raises.
    """
    source = with_newlines(source)
    flags = _TOP_LEVEL_AWAIT | features
    try:
        return _compile_parts(source, filename, flags)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        pass  # compiled outside of this handler, so that an error of the block has no context
    return _compile_tree(source, filename, flags)


def with_newlines(source: str) -> str:
    """Return a source whose lines end as Python's own parser sees them."""
    if "\r" in source:
        return source.replace("\r\n", "\n").replace("\r", "\n")
    return source


def _compile_tree(source: str, filename: str, flags: int) -> Compiled:
    tree: Any = compile(source, filename, "exec", _ONLY_AST | flags)
    last = None
    if tree.body:
        last = tree.body[-1]
    if type(last) is not _ast.Expr or _is_silenced(source, last):
        return Compiled((compile(tree, filename, "exec", flags),), None)
    tree.body.pop()
    value = compile(_ast.Expression(last.value), filename, "eval", flags)
    return Compiled((compile(tree, filename, "exec", flags),), value)


def _is_silenced(source: str, last: Any) -> bool:
    """Tell whether a semicolon hides the last value, as in notebooks."""
    line = source.split("\n")[last.end_lineno - 1].encode("utf-8", "surrogatepass")
    return line[last.end_col_offset :].lstrip(b" \t\f").startswith(b";")


def _compile_parts(source: str, filename: str, flags: int) -> Compiled:
    """Cut a block before its last line at the margin.

    A syntax tree of objects would cost a third of a step.

    Raise `SyntaxError` if the two parts do not compile apart: the cut may be inside a statement.
    """
    lines = source.split("\n")
    last = len(lines) - 1
    while last > 0 and lines[last][:1] in {"", *" \t\f#)]}"}:
        last -= 1
    head = "\n".join(lines[:last])
    tail = "\n" * last + "\n".join(lines[last:])
    if ";" in tail or (last and "__future__" in source):
        raise SyntaxError("an expression may follow in the same line, and a future import holds for the whole block")
    statements = ()
    if last:
        statements = (compile(head, filename, "exec", flags),)
    if not _STATEMENT.match(lines[last]):
        return Compiled(statements, compile(tail, filename, "eval", flags))
    return Compiled((*statements, compile(tail, filename, "exec", flags)), None)
