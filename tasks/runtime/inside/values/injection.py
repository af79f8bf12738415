"""What the host binds in a namespace: values, functions that run here, and types."""

import dataclasses
import enum
import os
import typing
from typing import Any, NamedTuple

from . import transfer
from .tree import decode

_ANNOTATIONS_AS_TEXT = 0x1000000  # CO_FUTURE_ANNOTATIONS: names in annotations need not exist here
_DEFINING_NAMES = {
    "dataclass": dataclasses.dataclass,
    "dataclasses": dataclasses,
    "field": dataclasses.field,
    "enum": enum,
    "typing": typing,
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


class Sent(NamedTuple):
    """A value as the host sent it: to be built where it is used, since libraries may start threads in building it."""

    name: str
    node: Any
    buffers: tuple[bytes, ...]

    def build(self, types: dict[str, Any]) -> Any:
        """Return the value; its records become instances of the types injected before."""

        def make_record(name: str, fields: dict[str, Any]) -> Any:
            record = object.__new__(types[name])
            for field, value in fields.items():
                object.__setattr__(record, field, value)
            return record

        return decode(self.node, self.buffers, make_record)


def receive(name: str, node: Any, sizes: list[int], descriptors: tuple[int, ...]) -> Sent:
    """Return what the host sent, with its buffers taken out of shared memory."""
    buffers: tuple[bytes, ...] = ()
    if descriptors:
        buffers = tuple(transfer.read(descriptors[0], sizes))
        os.close(descriptors[0])
    return Sent(name, node, buffers)
