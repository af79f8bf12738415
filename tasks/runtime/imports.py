"""Imports that a source needs, found in the module that it is from."""

import ast
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from carryover.tasks.runtime.inside.values.instances import is_library

Import = tuple[str, str, str | None]
"""Name in the source, module, and attribute of that module; without one, the module itself."""


def imports_of(value: Callable[..., Any] | type, source: str) -> list[Import]:
    """Return the imports behind the names that a function's or a class's source uses, sorted.

    Only libraries can be imported in the sandbox: other names of the module are left out.
    """
    module = sys.modules.get(value.__module__)
    scope = getattr(value, "__globals__", None) or (vars(module) if module is not None else {})
    used = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
    found = (_import_of(name, scope[name]) for name in sorted(used & scope.keys()))
    return [one for one in found if one is not None]


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
