"""Imports that a source needs, found in its module."""

import ast
import sys
from collections.abc import Callable, Container, Iterator
from types import ModuleType
from typing import Any

from carryover.tasks.runtime.definitions import scope_of
from carryover.tasks.runtime.inside.values.instances import is_library
from carryover.tasks.services.syntax import parse_python

Import = tuple[str, str, str | None]
"""Name in the source, module, and attribute of that module; without one, the module itself."""


def imports_of(value: Callable[..., Any] | type, source: str) -> list[Import]:
    """Return the imports behind the names of a source, sorted.

    Only libraries can be imported in the sandbox: other names of the module are left out.
    """
    scope = scope_of(value)
    used = {node.id for node in ast.walk(parse_python(source)) if isinstance(node, ast.Name)}
    found = (_import_of(name, scope[name]) for name in sorted(used & scope.keys()))
    return [one for one in found if one is not None]


def missing_names(function: Callable[..., Any], source: str, known: Container[str]) -> list[str]:
    """Return a function's outer names that a sandbox lacks, sorted."""
    code = getattr(function, "__code__", None)
    if code is None:
        return []
    scope = function.__globals__
    imported = {name for name, _, _ in imports_of(function, source)}
    used = {node.id for node in _outside_of_annotations(parse_python(source)) if isinstance(node, ast.Name)}
    missing = set(code.co_freevars)
    missing |= {name for name in used & scope.keys() if name not in imported and name not in known}
    return sorted(missing - {function.__name__})


def _outside_of_annotations(tree: ast.AST) -> Iterator[ast.AST]:
    for field, child in ast.iter_fields(tree):
        if field in ("annotation", "returns"):
            continue
        children = child if isinstance(child, list) else [child]
        for one in children:
            if isinstance(one, ast.AST):
                yield one
                yield from _outside_of_annotations(one)


def library_import(value: Any) -> Import | None:
    """Return a sandbox's import of a library function, or None."""
    place = getattr(value, "__module__", None) or _module_of_ufunc(value)
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    if type(place) is not str or type(name) is not str or not is_library(place):
        return None
    if getattr(sys.modules.get(place), name, None) is value:
        return name, place, name
    return None


def _module_of_ufunc(value: Any) -> str | None:
    """Return the module of NumPy's ufuncs, which name none."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.ufunc):
        return "numpy"
    return None


def _import_of(name: str, value: Any) -> Import | None:
    if isinstance(value, ModuleType):
        if is_library(value.__name__):
            return (name, value.__name__, None)
        return None
    place = getattr(value, "__module__", None)
    if type(place) is not str or not is_library(place):
        return None
    for attribute in (name, getattr(value, "__qualname__", None), getattr(value, "__name__", None)):
        if type(attribute) is str and getattr(sys.modules.get(place), attribute, None) is value:
            return name, place, attribute
    return None
