"""Handlers in a block's code that caught and printed an error."""

import ast
import builtins
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from carryover.tasks.readers.outputs import TRACEBACK, error_line, error_type, missing_name
from carryover.tasks.readers.trace import Block
from carryover.tasks.services.syntax import UNPARSABLE, parse_python

_TRACEBACK_WORDS = frozenset(
    {"traceback", "print_exc", "format_exc", "print_exception", "format_exception", "exception", "exc_info"}
)
"""Names with which a handler prints a traceback."""
_FORMATTING_WORDS = frozenset({"format_exc", "format_exception", "format_exception_only", "exc_info"})
"""Names with which a handler may also print a traceback's last line alone."""
_TYPE_WORDS = frozenset({"type", "__class__", "__name__", "exc_type"})
"""Names with which a handler prints the type of an error."""
_LEAVING_CALLS = frozenset({"exit", "quit", "_exit", "abort"})
_BROAD_TYPES = frozenset({"Exception", "BaseException"})
CHILD_TIMED_OUT = re.compile(r"\bCommand .+ timed out after\b")
"""Message of `subprocess.TimeoutExpired`."""
_HERE_DOCUMENT = re.compile(
    r"python[\d.]*+\b[^<\n]*+<<-?[ \t]*(?P<quote>['\"]?)(?P<end>\w+)(?P=quote)[^\n]*\n"
    r"(?P<code>.*?)^[ \t]*(?P=end)[ \t]*$",
    re.DOTALL | re.MULTILINE,
)


def prints_error(block: Block, text: str, error: str) -> bool:
    """Tell whether a block's code holds an error's text, or a handler that printed it."""
    return any(_has_text(tree, error) or _is_caught(tree, text, error) for tree in _programs(block, error))


def _programs(block: Block, error: str) -> Iterator[ast.Module]:
    """Yield the syntax trees of Python that may print an error."""
    sources = [block.code]
    if block.language == "shell":
        sources = _here_documents(block.code)
    for source in sources:
        if "except" not in source and error not in source:
            continue
        try:
            yield parse_python(source)
        except UNPARSABLE:
            continue


def _here_documents(code: str) -> list[str]:
    """Return the Python that a shell runs from its here documents."""
    if "<<" not in code:
        return []
    return [found["code"] for found in _HERE_DOCUMENT.finditer(code)]


def _has_text(tree: ast.Module, text: str) -> bool:
    """Tell whether code holds a text, beside its comments."""
    constants = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    return any(text in value for value in constants if isinstance(value, str))


class _Printed(NamedTuple):
    """Form in which an error stands in an output."""

    kind: str
    is_typed: bool
    """Whether its type stands before its message."""
    has_traceback: bool


def _printed_form(text: str, error: str) -> _Printed:
    kind = "TimeoutExpired" if CHILD_TIMED_OUT.search(error) else error_type(error)
    is_typed = error.endswith(kind) or f"{kind}:" in text
    return _Printed(kind, is_typed, TRACEBACK in text)


def _is_caught(tree: ast.Module, text: str, error: str) -> bool:
    """Tell whether a handler caught and printed an error."""
    printed = _printed_form(text, error)
    bodies = [
        node.body for node in ast.walk(tree) if isinstance(node, ast.Try | ast.TryStar) and _handles(node, printed)
    ]
    if not bodies:
        return False
    line = error_line(text, error)
    if line is not None and printed.has_traceback:
        return any(body[0].lineno <= line <= (body[-1].end_lineno or line) for body in bodies)
    name = missing_name(error)
    return name is None or not _is_read_outside(tree, bodies, name)


def _handles(node: ast.Try | ast.TryStar, printed: _Printed) -> bool:
    """Tell whether a handler prints the error and goes on."""
    handler = next((each for each in node.handlers if _catches(each, printed.kind)), None)
    if handler is None or any(map(_leaves, ast.walk(handler))):
        return False
    words = _words(handler)
    if printed.has_traceback:
        return not words.isdisjoint(_TRACEBACK_WORDS)
    if not words.isdisjoint(_FORMATTING_WORDS):
        return True
    tells_type = not printed.is_typed or _tells_type(words, printed.kind)
    return tells_type and handler.name in words


def _tells_type(words: set[str], kind: str) -> bool:
    return not words.isdisjoint(_TYPE_WORDS) or any(kind in word for word in words)


def _words(handler: ast.ExceptHandler) -> set[str]:
    """Return the names, attributes, keywords and texts in a handler."""
    words: set[str] = set()
    for statement in handler.body:
        for node in ast.walk(statement):
            words.add(_last_name(node))
            if isinstance(node, ast.keyword):
                words.add(node.arg or "")
            elif isinstance(node, ast.Constant):
                words.add(str(node.value))
    return words


def _catches(handler: ast.ExceptHandler, kind: str) -> bool:
    if handler.type is None:
        return True
    caught = {_last_name(node) for node in ast.walk(handler.type)} - {""}
    if kind in caught:
        return True
    raised = getattr(builtins, kind, None)
    if not isinstance(raised, type):
        return not caught.isdisjoint(_BROAD_TYPES)
    bases = [getattr(builtins, name, None) for name in caught]
    return any(isinstance(base, type) and issubclass(raised, base) for base in bases)


def _leaves(node: ast.AST) -> bool:
    """Tell whether a statement ends the block."""
    if isinstance(node, ast.Raise):
        return True
    return isinstance(node, ast.Call) and _last_name(node.func) in _LEAVING_CALLS


def _last_name(node: ast.AST) -> str:
    """Return a name, or an attribute's; empty for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr
    return ""


def _is_read_outside(tree: ast.Module, bodies: list[list[ast.stmt]], name: str) -> bool:
    """Tell whether a missing name is read without a handler.

    A function reads it where it is called.
    """
    uses = _uses(tree.body, name)
    is_bound = any(not isinstance(use.ctx, ast.Load) for use in uses)
    if is_bound:
        return False
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    harmless = set(chain.from_iterable(_uses(body, name) for body in (*bodies, functions)))
    return len(set(uses) - harmless) > 0


def _uses(nodes: Sequence[ast.AST], name: str) -> list[ast.Name]:
    """Return the places where statements name a variable."""
    inside = chain.from_iterable(map(ast.walk, nodes))
    return [inner for inner in inside if isinstance(inner, ast.Name) and inner.id == name]
