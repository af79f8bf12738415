"""A block's code: its statements, and the expression that it ends in."""

import _ast
import re
from types import CodeType
from typing import Any, NamedTuple

_ONLY_AST = 0x400  # ast.PyCF_ONLY_AST; the module `ast` itself is not needed
_STATEMENT = re.compile(r"(import|from|def|class|for|while|if|with|try|pass)\b|[A-Za-z_][\w.]*\s*=(?!=)")


class Compiled(NamedTuple):
    """Code objects, in order of execution."""

    statements: tuple[CodeType, ...]
    value: CodeType | None
    """The last expression, whose value is the block's."""


def compile_block(source: str, filename: str) -> Compiled:
    """Return the code of a block; raise what `compile` raises."""
    source = with_newlines(source)
    try:
        return _compile_parts(source, filename)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        pass  # compiled outside of this handler, so that an error of the block has no context
    return _compile_tree(source, filename)


def with_newlines(source: str) -> str:
    """Return a source whose lines end as Python's own parser sees them."""
    return source.replace("\r\n", "\n").replace("\r", "\n") if "\r" in source else source


def _compile_tree(source: str, filename: str) -> Compiled:
    tree: Any = compile(source, filename, "exec", _ONLY_AST)
    last = tree.body[-1] if tree.body else None
    if type(last) is not _ast.Expr or _is_silenced(source, last):
        return Compiled((compile(tree, filename, "exec"),), None)
    tree.body.pop()
    value = compile(_ast.Expression(last.value), filename, "eval")
    return Compiled((compile(tree, filename, "exec"),), value)


def _is_silenced(source: str, last: Any) -> bool:
    """Tell whether a semicolon follows the last expression, which hides its value as in a notebook."""
    line = source.split("\n")[last.end_lineno - 1].encode("utf-8", "surrogatepass")
    return line[last.end_col_offset :].lstrip(b" \t\f").startswith(b";")


def _compile_parts(source: str, filename: str) -> Compiled:
    """Cut a block before its last line that begins at the margin: a syntax tree of objects costs a third of a step.

    Raise `SyntaxError` if the two parts do not compile apart: the cut may be inside a statement.
    """
    lines = source.split("\n")
    last = len(lines) - 1
    while last > 0 and lines[last][:1] in {"", *" \t\r\f#)]}"}:
        last -= 1
    head, tail = "\n".join(lines[:last]), "\n" * last + "\n".join(lines[last:])
    statements = (compile(head, filename, "exec"),) if last else ()
    if not _STATEMENT.match(lines[last]):
        return Compiled(statements, compile(tail, filename, "eval"))
    if ";" in tail or "__future__" in head:
        raise SyntaxError("an expression may follow in the same line, and a future import holds for the whole block")
    return Compiled((*statements, compile(tail, filename, "exec")), None)
