"""Objects into and out of the sandbox, as the host handles them."""

import fcntl
import keyword
import os
import weakref
from collections.abc import Callable, Container, Mapping
from types import FunctionType
from typing import Any, NamedTuple

from carryover.tasks.runtime.definitions import Needs, definition_text, needs_of
from carryover.tasks.runtime.imports import imports_of, library_import, missing_names
from carryover.tasks.runtime.inside.values import transfer
from carryover.tasks.runtime.inside.values.plain import Record  # noqa: F401 - what a retrieval may return
from carryover.tasks.runtime.inside.values.portable import MissingTypeError, NotPortableError
from carryover.tasks.runtime.inside.values.tree import Encoded, Refer, decode, encode

_FIXED_SIZE = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW
_FIXED = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SEAL

NO_MEMORY = "no {size} bytes of shared memory are available ({reason}); free memory, or close files"


class InjectionError(Exception):
    """The object cannot be bound in the sandbox."""


class UnknownClassError(InjectionError):
    """The sandbox must know a class before it gets an instance."""

    def __init__(self, name: str, error: MissingTypeError) -> None:
        super().__init__(f"{name}: {error}")
        self.kind = error.kind


class RetrievalError(Exception):
    """The variable does not exist, or holds what does not travel."""


class SharedMemory:
    """Shared memory of a fixed size, freed with its last reference.

    The sandbox cannot shrink it, which would crash a reader with SIGBUS.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.descriptor = os.memfd_create("object", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        weakref.finalize(self, os.close, self.descriptor)
        os.ftruncate(self.descriptor, size)
        fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, _FIXED_SIZE)

    def seal(self) -> None:
        """Forbid further writes, or raise `OSError`.

        It fails if a process keeps the memory mapped for writing.
        """
        fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, _FIXED)

    def view(self) -> memoryview:
        """Return the content, writable for this process alone."""
        return transfer.view(self.descriptor, self.size)


def sealed(content: bytes | bytearray) -> SharedMemory:
    """Return sealed memory with a content."""
    memory = SharedMemory(max(len(content), 1))
    os.pwrite(memory.descriptor, content, 0)
    memory.seal()
    return memory


class Binding(NamedTuple):
    """A message that binds something, with its blob."""

    message: tuple[Any, ...]
    content: bytearray | SharedMemory | None = None
    """In shared memory only where it is large: each takes a descriptor."""

    @property
    def name(self) -> str:
        """Name that it is bound to."""
        return self.message[1]

    def memory(self) -> SharedMemory | None:
        """Return sealed memory with the content, if there is any."""
        if not isinstance(self.content, bytearray):
            return self.content
        return sealed(self.content)


def check_name(name: str) -> None:
    """Raise `InjectionError` for invalid or reserved names."""
    if not name.isidentifier() or keyword.iskeyword(name) or name.startswith("__"):
        raise InjectionError(f"{name!r:.100} is not a valid name; use an identifier without leading double underscores")


def bind_value(
    name: str,
    value: Any,
    *,
    is_user: bool,
    limit_bytes: int,
    types: Mapping[str, type] | None = None,
    refer: Refer | None = None,
) -> Binding:
    """Return the message that binds a variable.

    Raise `InjectionError` if it does not travel or is too large.
    """
    encoded = _encoded(name, value, types or {}, limit_bytes, refer)
    size = encoded.size
    if size > transfer.SMALL_BYTES:
        return Binding(("bind", name, is_user, size), _written(name, encoded))
    content = bytearray(size)
    encoded.write(memoryview(content))
    return Binding(("bind", name, is_user, size), content)


def write_value(
    name: str, value: Any, types: Mapping[str, type], limit_bytes: int, refer: Refer
) -> tuple[SharedMemory, tuple[str, ...]]:
    """Return a value's sealed blob and the libraries it takes.

    Raise what `bind_value` raises.
    """
    encoded = _encoded(name, value, types, limit_bytes, refer)
    return _written(name, encoded), encoded.libraries


def _encoded(name: str, value: Any, types: Mapping[str, type], limit_bytes: int, refer: Refer | None) -> Encoded:
    try:
        encoded = encode(value, types, refer)
    except MissingTypeError as error:
        raise UnknownClassError(name, error) from error
    except NotPortableError as error:
        raise InjectionError(f"{name}: {error}") from error
    if encoded.size > limit_bytes:
        problem = f"{encoded.size} bytes exceed the limit of {limit_bytes}; raise object_limit_bytes"
        raise InjectionError(f"{name}: {problem}")
    return encoded


def _written(name: str, encoded: Encoded) -> SharedMemory:
    try:
        memory = SharedMemory(encoded.size)
        transfer.fill(memory.descriptor, encoded)
    except OSError as error:
        raise InjectionError(f"{name}: {NO_MEMORY.format(size=encoded.size, reason=error.strerror)}") from error
    memory.seal()
    return memory


def bind_file(path: str, content: bytes, limit_bytes: int) -> Binding:
    """Return the message that puts a file into the scratch folder.

    Raise `InjectionError` if it is too large.
    """
    if len(content) > limit_bytes:
        raise InjectionError(
            f"{path}: {len(content)} bytes exceed the limit of {limit_bytes}; raise scratch_limit_bytes"
        )
    return Binding(("place", path, len(content)), sealed(content))


def bind_function(name: str, function: Callable[..., Any], known: Container[str]) -> Binding:
    """Return the message that defines a function in the sandbox.

    Raises:
        InjectionError: It has no source, or uses what the sandbox lacks.
    """
    from_library = library_import(function)
    if from_library is not None:
        return Binding(("define", name, f"{name} = {from_library[0]}", [from_library]))
    if not isinstance(function, FunctionType):
        kind = type(function).__name__
        raise InjectionError(f"{name}: a {kind} has no source of its own; define a function, or pass runs_in='host'")
    binding = bind_source(name, function)
    missing = missing_names(function, binding.message[2], known)
    if missing:
        names = ", ".join(missing)
        raise InjectionError(
            f"{name}: its source uses {names}, which the sandbox lacks; inject that first, or pass runs_in='host'"
        )
    return binding


class Definition(NamedTuple):
    """A class or function of the user's, ready to be defined."""

    binding: Binding
    needs: Needs
    """What must be defined before and after it."""


def bind_definition(name: str, value: Callable[..., Any] | type) -> Definition:
    """Return the message that defines a class or function with its constants, and what it needs.

    Raise `InjectionError` without a source of that name.
    """
    if "[" in value.__name__:
        way_out = f"give the class a name: class Name({value.__name__})"
        raise InjectionError(f"{name}: an instance of {value.__name__} does not travel; {way_out}")
    binding = bind_source(name, value)
    needs = needs_of(value)
    kind, _, source, imports = binding.message
    return Definition(binding._replace(message=(kind, name, needs.constants + source, imports)), needs)


def bind_source(name: str, value: Callable[..., Any] | type) -> Binding:
    """Return the message that defines a function or a type.

    Raise `InjectionError` without a source of that name.
    """
    if value.__name__ == "<lambda>":
        raise InjectionError(f'{name}: a lambda has no name to define; write `def {name}`, or pass runs_in="host"')
    try:
        source = definition_text(value)
    except (OSError, TypeError) as error:
        way_out = "define it in a file" if isinstance(value, type) else 'define it in a file, or pass runs_in="host"'
        raise InjectionError(f"{name}: source unavailable ({error}); {way_out}") from error
    if value.__name__ != name:
        raise InjectionError(f"{name}: its source defines {value.__name__!r}; inject it under that name")
    return Binding(("define", name, source, imports_of(value, source)))


def read_value(
    name: str,
    content: memoryview,
    types: Mapping[str, type],
    libraries: tuple[str, ...],
    refer: Callable[..., Any] | None = None,
) -> Any:
    """Return the native object, unknown classes as `Record`s.

    Raise `RetrievalError` if it is malformed.
    """
    try:
        return decode(content, types, libraries=libraries, refer=refer)
    except NotPortableError as error:
        raise RetrievalError(f"{name}: {error}") from error
    except MemoryError as error:
        raise RetrievalError(f"{name}: this process has no memory for it; retrieve a smaller part") from error
