"""A block's code: its statements, and the expression that it ends in."""

import _ast
from types import CodeType
from typing import Any, NamedTuple

_ONLY_AST = 0x400  # ast.PyCF_ONLY_AST; the module `ast` itself is not needed


class Compiled(NamedTuple):
    """What runs, in this order."""

    statements: CodeType
    value: CodeType | None
    """The last expression, whose value is the block's."""


def compile_block(source: str, filename: str) -> Compiled:
    """Return the code of a block; raise what `compile` raises."""
    tree: Any = compile(source, filename, "exec", _ONLY_AST)
    last = tree.body.pop() if tree.body and type(tree.body[-1]) is _ast.Expr else None
    value = compile(_ast.Expression(last.value), filename, "eval") if last is not None else None
    return Compiled(compile(tree, filename, "exec"), value)
