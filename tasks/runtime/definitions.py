"""Definitions and constants that a class statement uses, found in its module.

What only its methods use stays on the host: a module may hold what no block should see.
"""

import __future__

import ast
import contextlib
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from types import FunctionType
from typing import Any, NamedTuple, TypeVar

from carryover.tasks.runtime.inside.values.instances import is_library
from carryover.tasks.services.syntax import UNPARSABLE, parse_python, source_text

_CONSTANT_LIMIT = 10_000
"""Characters of a constant that comes along."""
_PLAIN = (bool, int, float, str, bytes, type(None))
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class Needs(NamedTuple):
    """What a class or function of the user's needs beside its source."""

    first: tuple[Any, ...]
    """Classes and functions that its statement runs: bases, decorators, defaults, annotations."""
    later: tuple[Any, ...]
    """Classes of fields whose annotations are text: they may be defined after it."""
    constants: str
    """Assignments of plain constants and type variables that its statement runs."""


def definition_text(value: Callable[..., Any] | type) -> str:
    """Return a definition's source from its margin on; raise what `inspect.getsource` raises.

    A class within another one of a module is the other's.
    """
    outer, _, name = value.__qualname__.rpartition(".")
    if isinstance(value, type) and outer and "<locals>" not in outer:
        return f"{name} = {value.__qualname__}\n"
    return textwrap.dedent(source_text(value))


def needs_of(value: Callable[..., Any] | type) -> Needs:
    """Return what a definition uses of its module, libraries aside."""
    scope = scope_of(value)
    tree = parse_python(definition_text(value))
    is_deferred = scope.get("annotations") is __future__.annotations
    at_once = _names_in(_run_at_once(tree, has_annotations=not is_deferred)) & scope.keys()
    in_fields = _names_in_fields(tree) & scope.keys()
    first = [scope[name] for name in sorted(at_once) if _is_definition(name, scope[name])]
    later = [scope[name] for name in sorted(in_fields - at_once) if _is_definition(name, scope[name])]
    assignments = [f"{name} = {text}\n" for name in sorted(at_once) if (text := _as_source(scope[name]))]
    return Needs(tuple(first), tuple(later), "".join(assignments))


def scope_of(value: Callable[..., Any] | type) -> dict[str, Any]:
    """Return the global names of a definition's module."""
    own = getattr(value, "__globals__", None)
    if own is not None:
        return own
    module = sys.modules.get(value.__module__)
    if module is None:
        return {}
    return vars(module)


def _is_definition(name: str, value: Any) -> bool:
    """Tell whether a value is a class or function of the user's, under its own name."""
    if not isinstance(value, (type, FunctionType)) or value.__name__ != name:
        return False
    return not is_library(value.__module__)


def _run_at_once(tree: ast.AST, *, has_annotations: bool) -> Iterator[ast.AST]:
    """Yield the nodes that run with a definition, rather than in a call."""
    for field, child in ast.iter_fields(tree):
        if field == "body" and isinstance(tree, _FUNCTIONS):
            continue
        if field in ("annotation", "returns") and not has_annotations:
            continue
        children = child if isinstance(child, list) else [child]
        for one in children:
            if isinstance(one, ast.AST):
                yield one
                yield from _run_at_once(one, has_annotations=has_annotations)


def _names_in(nodes: Iterable[ast.AST]) -> set[str]:
    return {node.id for node in nodes if isinstance(node, ast.Name)}


def _names_in_fields(tree: ast.AST) -> set[str]:
    """Return the names in annotations of fields, texts included."""
    found: set[str] = set()
    fields = [node.annotation for node in ast.walk(tree) if isinstance(node, ast.AnnAssign)]
    for node in chain.from_iterable(map(ast.walk, fields)):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            with contextlib.suppress(*UNPARSABLE):
                found |= _names_in(ast.walk(parse_python(node.value)))
    return found


def _as_source(value: Any) -> str | None:
    """Return an expression for a plain constant or an unbound type variable, else None."""
    if isinstance(value, TypeVar):
        is_bound = value.__bound__ is not None or value.__constraints__
        return None if is_bound else f"typing.TypeVar({value.__name__!r})"
    with contextlib.suppress(*UNPARSABLE):  # an integer of thousands of digits has no text, nor has endless nesting
        if not _is_plain(value):
            return None
        text = repr(value)
        if len(text) <= _CONSTANT_LIMIT and ast.literal_eval(text) == value:
            return text
    return None


def _is_plain(value: Any) -> bool:
    """Tell whether a value is of built-in types throughout: a subclass's text is another value's."""
    if type(value) is dict:
        return all(map(_is_plain, (*value, *value.values())))
    if type(value) in (list, tuple, set):
        return all(map(_is_plain, value))
    return type(value) in _PLAIN
