"""Texts in Python expressions that are known without running."""

import ast
from pathlib import PurePosixPath

Constants = dict[str, str]
"""Texts that names hold, and sources of Python files by their paths."""
_JOINING = ("Path", "PurePath", "join", "str")


def text_of(node: ast.expr | None, constants: Constants) -> str | None:
    """Return the text that an expression is; null where it is computed."""
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.Name():
            return constants.get(node.id)
        case ast.JoinedStr():
            return _formatted(node, constants)
        case ast.BinOp(op=ast.Add() | ast.Div()):
            return _joined_by_sign(node, constants)
        case ast.Call() if dotted(node.func).rpartition(".")[2] in _JOINING:
            return _joined_by_call(node, constants)
        case _:
            return None


def _formatted(node: ast.JoinedStr, constants: Constants) -> str | None:
    values = [each.value if isinstance(each, ast.FormattedValue) else each for each in node.values]
    parts = [text_of(each, constants) for each in values]
    known = [part for part in parts if part is not None]
    if len(known) == len(parts):
        return "".join(known)
    return None


def _joined_by_sign(node: ast.BinOp, constants: Constants) -> str | None:
    left = text_of(node.left, constants)
    right = text_of(node.right, constants)
    if left is None or right is None:
        return None
    if isinstance(node.op, ast.Add):
        return left + right
    return str(PurePosixPath(left) / right)


def _joined_by_call(node: ast.Call, constants: Constants) -> str | None:
    parts = [text_of(each, constants) for each in node.args]
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts):
        return None
    return str(PurePosixPath(*known))


def dotted(node: ast.expr) -> str:
    """Return a chain of names as text; empty owners otherwise.

    A call's result has no such chain.
    """
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return ""


def argument(node: ast.Call, index: int, constants: Constants) -> str | None:
    """Return a positional argument's text."""
    if len(node.args) > index:
        return text_of(node.args[index], constants)
    return None


def keyword(node: ast.Call, name: str, constants: Constants) -> str | None:
    """Return a keyword argument's text."""
    held = next((each.value for each in node.keywords if each.arg == name), None)
    return text_of(held, constants)


def command_line(node: ast.Call, constants: Constants) -> str | None:
    """Return the command line of a call: its text or words."""
    if not node.args:
        return None
    first = node.args[0]
    if not isinstance(first, ast.List):
        return text_of(first, constants)
    words = [text_of(each, constants) or ("python" if dotted(each) == "sys.executable" else "") for each in first.elts]
    return " ".join(words)


def note_assignment(node: ast.Assign, constants: Constants) -> None:
    """Keep the text that an assignment gives to a name."""
    text = text_of(node.value, constants)
    for target in node.targets:
        if not isinstance(target, ast.Name):
            continue
        constants.pop(target.id, None)
        if text is not None:
            constants[target.id] = text
