"""Syntax trees, built safely from several threads."""

import ast
import inspect
import re
import threading
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

Built = TypeVar("Built")
ATTEMPTS = 20
FILENAME = "<block>"
"""File name in warnings about the source, which are suppressed: a model wrote it."""
UNPARSABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
"""What source raises that is no Python; null bytes and absurd nesting are none either."""
_lock = threading.Lock()
_CATEGORIES = (SyntaxWarning, DeprecationWarning)
_FILTERS = [("ignore", None, category, re.compile(FILENAME), 0) for category in _CATEGORIES]
"""As `warnings` keeps them, the first one the strongest."""


def parse_python(source: str | bytes) -> ast.Module:
    """Return the syntax tree of Python source; raise what `ast.parse` raises.

    CPython 3.11 counts the depth of a tree under construction in one place for all threads, and fails with
    `SystemError` when two of them build trees at once (python/cpython#106905). Our own calls take turns here; a
    library's may still cross one of ours, so that error is tried again.
    """
    with _lock:
        # A `catch_warnings` block that ends takes our filters away.
        if warnings.filters[: len(_FILTERS)] != _FILTERS:
            for category in reversed(_CATEGORIES):
                warnings.filterwarnings("ignore", category=category, module=FILENAME)
        return _tried(lambda: ast.parse(source, FILENAME))


def source_text(value: Callable[..., Any] | type) -> str:
    """Return what `inspect.getsource` does, which for a class parses its file.

    It takes its turn like `parse_python`, and raises what `inspect.getsource` raises.
    """
    with _lock:
        return _tried(lambda: inspect.getsource(value))


def _tried(build: Callable[[], Built]) -> Built:
    for _ in range(ATTEMPTS - 1):
        try:
            return build()
        except SystemError:
            continue
    return build()


def calls_finish(code: str) -> bool:
    """Tell whether a block has a call of `finish`.

    A block that does not parse has none.
    """
    if "finish" not in code:
        return False
    try:
        nodes = ast.walk(parse_python(code))
    except UNPARSABLE:
        return False
    calls = (node.func for node in nodes if isinstance(node, ast.Call))
    return any(isinstance(called, ast.Name) and called.id == "finish" for called in calls)
