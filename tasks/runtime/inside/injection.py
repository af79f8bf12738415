"""What the host binds in a namespace: values, functions that run here, and types."""

import dataclasses
import enum
import os
import typing
from typing import Any

from . import transfer
from .values import decode

_ANNOTATIONS_AS_TEXT = 0x1000000  # CO_FUTURE_ANNOTATIONS: names in annotations need not exist here
_DEFINING_NAMES = {
    "dataclass": dataclasses.dataclass,
    "dataclasses": dataclasses,
    "field": dataclasses.field,
    "Enum": enum.Enum,
    "StrEnum": enum.StrEnum,
    "IntEnum": enum.IntEnum,
    "NamedTuple": typing.NamedTuple,
    "Any": Any,
    "Literal": typing.Literal,
}
"""What the source of an injected type or function may use beside builtins, tools and what was injected before."""


def define(name: str, source: str, own: dict[str, Any]) -> Any:
    """Execute the source of a function or a type; return what it binds to `name`.

    Its globals hold the tools and what was injected before, not the names of the agent's blocks.
    """
    scope = {**_DEFINING_NAMES, **own, "__name__": "__main__"}
    exec(compile(source, f"<injected {name}>", "exec", _ANNOTATIONS_AS_TEXT, dont_inherit=True), scope)
    return scope[name]


def receive_value(node: Any, sizes: list[int], descriptors: tuple[int, ...], types: dict[str, Any]) -> Any:
    """Return the value that the host sent; its records become instances of the types injected before."""
    buffers: list[bytes] = []
    if descriptors:
        buffers = transfer.read(descriptors[0], sizes)
        os.close(descriptors[0])

    def make_record(name: str, fields: dict[str, Any]) -> Any:
        record = object.__new__(types[name])
        for field, value in fields.items():
            object.__setattr__(record, field, value)
        return record

    return decode(node, buffers, make_record)
