"""Host definitions in a namespace: types, and functions run there."""

import contextlib
import dataclasses
import enum
import importlib
import sys
import typing
from collections.abc import Sequence
from typing import Any

_ANNOTATIONS_AS_TEXT = 0x1000000  # CO_FUTURE_ANNOTATIONS: names in annotations need not exist here
_DEFINING_NAMES: dict[str, Any] = {
    **{module.__name__: module for module in (dataclasses, enum, typing)},
    **{name: getattr(dataclasses, name) for name in ("dataclass", "field")},
    **{name: getattr(enum, name) for name in ("Enum", "IntEnum", "StrEnum")},
    **{name: getattr(typing, name) for name in ("Any", "Literal", "NamedTuple")},
}
"""Names that injected source may use, beside builtins, tools and what was injected before."""


def define(name: str, source: str, imports: Sequence[Any], own: dict[str, Any]) -> Any:
    """Execute a function's or type's source; return `name`'s value.

    Its globals hold its module's imports, the tools and what was injected before, not the names of the agent's blocks.
    """
    scope = {**_DEFINING_NAMES, **_imported(imports), **own, "__name__": "__main__"}
    try:
        _execute(name, source, scope, 0)
    except NameError:  # annotations name what does not exist here, or not yet
        _execute(name, source, scope, _ANNOTATIONS_AS_TEXT)
    return scope[name]


def _execute(name: str, source: str, scope: dict[str, Any], flags: int) -> None:
    """Execute a source in a scope as main module.

    Decorators look names up there.
    """
    main = sys.modules["__main__"]
    place = type(sys)("__main__")
    place.__dict__.update(scope)
    sys.modules["__main__"] = place
    try:
        exec(compile(source, f"<injected {name}>", "exec", flags, dont_inherit=True), place.__dict__)
    finally:
        sys.modules["__main__"] = main
    scope[name] = place.__dict__[name]


def _imported(imports: Sequence[Any]) -> dict[str, Any]:
    found = {}
    for name, module, attribute in imports:
        with contextlib.suppress(ImportError, AttributeError):
            value = importlib.import_module(module)
            found[name] = value if attribute is None else getattr(value, attribute)
    return found
