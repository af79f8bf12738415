"""Definitions of the host in a namespace: types, and functions that run in the sandbox."""

import dataclasses
import enum
import importlib
import typing
from typing import Any

_ANNOTATIONS_AS_TEXT = 0x1000000  # CO_FUTURE_ANNOTATIONS: names in annotations need not exist here
_DEFINING_NAMES: dict[str, Any] = {
    **{module.__name__: module for module in (dataclasses, enum, typing)},
    **{name: getattr(dataclasses, name) for name in ("dataclass", "field")},
    **{name: getattr(enum, name) for name in ("Enum", "IntEnum", "StrEnum")},
    **{name: getattr(typing, name) for name in ("Any", "Literal", "NamedTuple")},
}
"""Names that injected source may use, beside builtins, tools and what was injected before."""


def define(name: str, source: str, own: dict[str, Any]) -> Any:
    """Execute the source of a function or a type; return what it binds to `name`.

    Its globals hold the tools and what was injected before, not the names of the agent's blocks.
    """
    scope = {**_DEFINING_NAMES, **own, "__name__": "__main__"}
    flags = _ANNOTATIONS_AS_TEXT
    if "BaseModel" in source:  # Pydantic reads the annotations at once
        pydantic = importlib.import_module("pydantic")
        scope = {"BaseModel": pydantic.BaseModel, "Field": pydantic.Field, "ConfigDict": pydantic.ConfigDict, **scope}
        scope["pydantic"], flags = pydantic, 0
    exec(compile(source, f"<injected {name}>", "exec", flags, dont_inherit=True), scope)
    return scope[name]
