"""Errors that ended a block, told from those that its code printed."""

import ast
import builtins
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from carryover.tasks.readers.outputs import (
    TRACEBACK,
    Outcome,
    error_line,
    error_type,
    last_lines,
    missing_name,
    plain_text,
    tells_failed_exit,
)
from carryover.tasks.readers.trace import Block
from carryover.tasks.services.syntax import UNPARSABLE, parse_python

_ENDS_NO_BLOCK = re.compile(r"^Exception (?:in thread|ignored in)\b", re.MULTILINE)
_OWN_FRAME = re.compile(r'File "<(?!frozen)[^>\n]*>", line \d+|Cell In ?\[|<ipython-input|^-+> ?\d', re.MULTILINE)
_SHOWN_LINE = re.compile(r'File "[^"\n]*", line (?P<line>\d+), in <module>\n[ \t]+(?P<source>[^\n]+)')
_FIRST_FRAME = re.compile(rf'{re.escape(TRACEBACK)}:?\n\s*File "[^"\n]*", line \d+, in (?P<function>\w+)\n')
_EXIT_WORDS = re.compile(r"exit.?(?:code|status)|returncode|\bexit\w*\b.*\$\?", re.IGNORECASE)
_MARKED_EXIT = re.compile(r"<returncode>|[\[(][^\])\n]*\bexit|^exitcode: -?\d+ \(", re.IGNORECASE | re.MULTILINE)
"""An exit status in a harness's own marks, which no block prints."""
_TRACEBACK_WORDS = frozenset(
    {"traceback", "print_exc", "format_exc", "print_exception", "format_exception", "exception", "exc_info"}
)
"""Names with which a handler prints a traceback."""
_TYPE_WORDS = frozenset({"type", "__class__", "__name__", "exc_type"})
"""Names with which a handler prints the type of an error."""
_TELLING_LENGTH = 4
"""Characters from which on a line of code is told from a part of another one."""
_LEAVING_CALLS = frozenset({"exit", "quit", "_exit", "abort"})
_BROAD_TYPES = frozenset({"Exception", "BaseException"})
_HERE_DOCUMENT = re.compile(
    r"python[\d.]*\b[^\n]*<<-?\s*(?P<quote>['\"]?)(?P<end>\w+)(?P=quote)[^\n]*\n(?P<code>.*?)^\s*(?P=end)\s*$",
    re.DOTALL | re.MULTILINE,
)


def answered(block: Block, outcome: Outcome) -> Block:
    """Return a block with its outcome.

    An error that is only printed did not end the block where its code caught it, or where a log that it read or a
    process that it ran told it.
    """
    answer = block._replace(output=outcome.output, error=outcome.error, result=outcome.result)
    if outcome.error is None or outcome.is_declared or not _is_printed(block, outcome.output, outcome.error):
        return answer
    return answer._replace(error=None, caught=outcome.error)


def _is_printed(block: Block, output: str, error: str) -> bool:
    """Tell whether a block printed an error and went on."""
    text = plain_text(output)
    if tells_failed_exit(text):
        is_marked = _MARKED_EXIT.search(text) is not None
        return not is_marked and error.startswith("NonZeroExit") and _EXIT_WORDS.search(block.code) is not None
    if any(_has_text(tree, error) or _is_caught(tree, text, error) for tree in _programs(block, error)):
        return True
    return TRACEBACK in text and _is_of_others(block, text, error)


def _is_of_others(block: Block, text: str, error: str) -> bool:
    """Tell whether a thread, helper, child or log printed the traceback."""
    last = text[text.rindex(TRACEBACK) :]
    before = text[: -len(last)].rstrip().rpartition("\n")[2]
    if _ENDS_NO_BLOCK.match(before) or _began_in_helper(block.code, last):
        return True
    missing = missing_name(error)
    names_it = missing is not None and re.search(rf"\b{missing}\b", block.code) is not None
    if names_it or _is_own(block.code, last):
        return False
    return _goes_on(last, error) or (block.language == "python" and _SHOWN_LINE.search(last) is not None)


def _goes_on(text: str, error: str) -> bool:
    """Tell whether an output has further lines below an error."""
    first = error.partition("\n")[0]
    return not any(first in line for line in last_lines(text))


def _is_own(code: str, traceback: str) -> bool:
    """Tell whether a traceback names a line of the block."""
    if _OWN_FRAME.search(traceback):
        return True
    lines = [line.strip() for line in code.splitlines() if len(line.strip()) >= _TELLING_LENGTH]
    shown = [found["source"].strip() for found in _SHOWN_LINE.finditer(traceback)]
    return any(source in code or any(line in source for line in lines) for source in shown)


def _began_in_helper(code: str, traceback: str) -> bool:
    """Tell whether a function that the block calls printed a traceback.

    One that ends a block begins in its module.
    """
    found = _FIRST_FRAME.match(traceback)
    return found is not None and re.search(rf"\b{found['function']}\b", code) is not None


def _programs(block: Block, error: str) -> Iterator[ast.Module]:
    """Yield the syntax trees of Python that may print an error."""
    sources = [block.code]
    if block.language == "shell":
        sources = [found["code"] for found in _HERE_DOCUMENT.finditer(block.code)]
    for source in sources:
        if "except" not in source and error not in source:
            continue
        try:
            yield parse_python(source)
        except UNPARSABLE:
            continue


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


def _is_caught(tree: ast.Module, text: str, error: str) -> bool:
    """Tell whether a handler caught and printed an error."""
    kind = error_type(error)
    printed = _Printed(kind, f"{kind}:" in text, TRACEBACK in text)
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
    tells_traceback = not words.isdisjoint(_TRACEBACK_WORDS)
    if printed.has_traceback or tells_traceback:
        return tells_traceback
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
    if caught & _BROAD_TYPES or kind in caught:
        return True
    raised = getattr(builtins, kind, None)
    bases = raised.__mro__ if isinstance(raised, type) else ()
    return any(base.__name__ in caught for base in bases)


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
