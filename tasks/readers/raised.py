"""Errors that ended a block, told from those that its code printed."""

import ast
import re

from carryover.tasks.readers.handlers import CHILD_TIMED_OUT, prints_error
from carryover.tasks.readers.outputs import (
    TRACEBACK,
    Outcome,
    error_type,
    exit_status,
    last_lines,
    missing_name,
    plain_text,
)
from carryover.tasks.readers.trace import Block
from carryover.tasks.services.syntax import UNPARSABLE, parse_python

_ENDS_NO_BLOCK = re.compile(r"^(?:Exception (?:in thread|ignored)\b|Process [\w:-]*-[\d:]+:$|future: <)")
"""Line above a traceback of a thread, a destructor, a child process or an asyncio task."""
_OWN_FRAME = re.compile(r'File "<(?!frozen)[^<>\n]*>", line \d+|Cell In ?\[|<ipython-input|^-+> ?\d', re.MULTILINE)
_OWN_MODULE = re.compile(r'File "<(?!frozen)[^<>\n]*>", line \d+, in <module>')
_SHOWN_LINE = re.compile(r'File "[^"\n]*", line (?P<line>\d+), in <module>\n[ \t]+(?P<source>[^\n]+)')
_FIRST_FRAME = re.compile(rf'{re.escape(TRACEBACK)}:?\n\s*File "[^"\n]*", line \d+, in (?P<function>\w+)\n')
_EXIT_WORDS = re.compile(r"exit.?(?:code|status)|returncode|\bexit\w*\b.*\$\?", re.IGNORECASE)
_MARKED_EXIT = re.compile(r"<returncode>|[\[(][^\[\]()\n]*\bexit|^exitcode: -?\d+ \(", re.IGNORECASE | re.MULTILINE)
"""An exit status in a harness's own marks, which no block prints."""
_TELLING_LENGTH = 4
"""Characters from which on a line of code is told from a part of another one."""
_STOPS = frozenset({"TimeoutError", "KernelDied"})
"""Errors that `find_error` names where a text tells them in words."""


def answered(block: Block, outcome: Outcome) -> Block:
    """Return a block with its outcome.

    An error that is only printed did not end the block where its code caught it, or where a log that it read or a
    process that it ran told it.
    """
    answer = block._replace(output=outcome.output, error=outcome.error, result=outcome.result, caught=None)
    if outcome.error is None or outcome.is_declared:
        return answer
    if _has_succeeded(block, outcome) or _is_printed(block, outcome.output, outcome.error):
        return answer._replace(error=None, caught=outcome.error)
    return answer


def _has_succeeded(block: Block, outcome: Outcome) -> bool:
    """Tell whether a shell's exit status is zero, in a field or a mark.

    A tool's own status says nothing of Python that it ran.
    """
    if block.language != "shell":
        return False
    text = plain_text(outcome.output)
    return outcome.exit_code == 0 or (_MARKED_EXIT.search(text) is not None and exit_status(text) == 0)


def _is_printed(block: Block, output: str, error: str) -> bool:
    """Tell whether a block printed an error and went on."""
    text = plain_text(output)
    if exit_status(text):
        is_marked = _MARKED_EXIT.search(text) is not None
        return not is_marked and error.startswith("NonZeroExit") and _EXIT_WORDS.search(block.code) is not None
    if _is_stop(text, error):
        return "timed out" in block.code and error.startswith("TimeoutError")
    if prints_error(block, text, error):
        return True
    return TRACEBACK in text and _is_of_others(block, text, error)


def _is_stop(text: str, error: str) -> bool:
    """Tell whether a text says that a block was stopped, beside `subprocess`'s message."""
    kind = error_type(error)
    return kind in _STOPS and kind not in text and CHILD_TIMED_OUT.search(error) is None


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
    return _OWN_FRAME.search(traceback) is not None or _shows_line(code, traceback)


def _shows_line(code: str, traceback: str) -> bool:
    """Tell whether a traceback shows the source of a line of the block."""
    code = _without_texts(code)
    lines = [line.strip() for line in code.splitlines() if len(line.strip()) >= _TELLING_LENGTH]
    shown = [found["source"].strip() for found in _SHOWN_LINE.finditer(traceback)]
    return any(source in code or any(line in source for line in lines) for source in shown)


def _without_texts(code: str) -> str:
    """Return code without the further lines of its texts, as of a script that it writes."""
    try:
        tree = parse_python(code)
    except UNPARSABLE:
        return code
    lines = code.split("\n")
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant | ast.JoinedStr):
            last_line = node.end_lineno or node.lineno
            lines[node.lineno : last_line] = [""] * (last_line - node.lineno)
    return "\n".join(lines)


def _began_in_helper(code: str, traceback: str) -> bool:
    """Tell whether a function that the block calls printed a traceback.

    One that ends a block begins in its module, or above it in the harness.
    """
    found = _FIRST_FRAME.match(traceback)
    if found is None or re.search(rf"\b{found['function']}\b", code) is None:
        return False
    return _OWN_MODULE.search(traceback) is None and not _shows_line(code, traceback)
