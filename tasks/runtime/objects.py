"""Objects into and out of the sandbox: what the host sends, and how it reads what comes back."""

import dataclasses
import fcntl
import inspect
import keyword
import os
import textwrap
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from carryover.tasks.runtime.inside.values.portable import NotPortableError
from carryover.tasks.runtime.inside.values.tree import decode, encode

_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


class InjectionError(Exception):
    """The object cannot be bound in the sandbox."""


class RetrievalError(Exception):
    """The variable does not exist, or holds what does not travel."""


class Record(NamedTuple):
    """An instance of a dataclass that the host does not know."""

    type_name: str
    fields: dict[str, Any]


class Binding(NamedTuple):
    """A message that binds something in a namespace, and the content of the shared memory that goes with it."""

    message: tuple[Any, ...]
    content: bytes | None = None

    @property
    def name(self) -> str:
        """What it is bound to."""
        return self.message[1]


class Room(NamedTuple):
    """What the sandbox says of a variable before its buffers are fetched."""

    node: Any
    sizes: tuple[int, ...]


def check_name(name: str) -> None:
    """Raise `InjectionError` for what is no name of a user's."""
    if not name.isidentifier() or keyword.iskeyword(name) or name.startswith("__"):
        raise InjectionError(f"{name!r:.100} is no name that a block can use; dunder names are the runtime's own")


def bind_value(name: str, value: Any, *, is_user: bool, limit_bytes: int) -> Binding:
    """Return the message that binds a variable.

    Raises:
        InjectionError: The value does not travel, or is larger than `limit_bytes`.
    """
    buffers: list[Any] = []
    try:
        node = encode(value, buffers)
    except NotPortableError as error:
        raise InjectionError(f"{name}: {error}") from error
    sizes = [len(buffer) for buffer in buffers]
    if sum(sizes) > limit_bytes:
        raise InjectionError(f"{name}: {sum(sizes)} bytes exceed the {limit_bytes} that an object may have")
    content = b"".join(bytes(buffer) for buffer in buffers) or None
    return Binding(("bind", name, is_user, node, sizes if content is not None else []), content)


def bind_source(name: str, value: Callable[..., Any] | type) -> Binding:
    """Return the message that defines a function or a type from its source.

    Raises:
        InjectionError: It has no source, or goes by another name there.
    """
    try:
        source = textwrap.dedent(inspect.getsource(value))
    except (OSError, TypeError) as error:
        raise InjectionError(f"{name}: its source is needed, and not to be had ({error})") from error
    if value.__name__ != name:
        raise InjectionError(f"{name}: its source defines {value.__name__!r}; inject it under that name")
    return Binding(("define", name, source))


def read_room(name: str, answer: Any, limit_bytes: int) -> Room:
    """Return what the sandbox says of a variable, checked.

    Raises:
        RetrievalError: There is no such variable, or it does not travel, or it is larger than `limit_bytes`.
    """
    match answer:
        case {"missing": _}:
            raise RetrievalError(f"no variable {name!r} is alive")
        case {"error": str(text)}:
            raise RetrievalError(f"{name}: {text}")
        case {"node": node, "sizes": list(sizes)} if all(type(size) is int and size >= 0 for size in sizes):
            if sum(sizes) > limit_bytes:
                raise RetrievalError(f"{name}: {sum(sizes)} bytes exceed the {limit_bytes} that an object may have")
            return Room(node, tuple(sizes))
    raise RetrievalError(f"{name}: malformed answer")


def read_value(name: str, room: Room, content: bytes, types: Mapping[str, type], limit_bytes: int) -> Any:
    """Return the native object; a record of a type that the host injected becomes an instance of it.

    Raises:
        RetrievalError: The data are malformed, or the object would take more than `limit_bytes` here.
    """

    def make_record(type_name: str, fields: dict[str, Any]) -> Any:
        known = types.get(type_name)
        if known is None or set(fields) != {field.name for field in dataclasses.fields(known)}:
            return Record(type_name, fields)
        record = object.__new__(known)
        for field, value in fields.items():
            object.__setattr__(record, field, value)
        return record

    buffers = []
    position = 0
    for size in room.sizes:
        buffers.append(content[position : position + size])
        position += size
    try:
        return decode(room.node, buffers, make_record, limit_bytes)
    except NotPortableError as error:
        raise RetrievalError(f"{name}: {error}") from error


def shared_memory(content: bytes | int) -> int:
    """Return the descriptor of shared memory with this content, or of this size; nobody can resize it.

    The caller closes it. A memory that the sandbox could shrink would let it end the host by a bus error.
    """
    descriptor = os.memfd_create("object", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    if isinstance(content, int):
        os.ftruncate(descriptor, content)
    else:
        view = memoryview(content)
        while view:
            view = view[os.write(descriptor, view) :]
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SEALS)
    return descriptor


def read_shared_memory(descriptor: int, size: int) -> bytes:
    """Return a copy: what the sandbox still maps may change while it is parsed."""
    parts = []
    position = 0
    while position < size and (part := os.pread(descriptor, size - position, position)):
        parts.append(part)
        position += len(part)
    return b"".join(parts)
