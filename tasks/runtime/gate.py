"""The gate between host and blocks: known classes and live objects."""

import base64
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from carryover.tasks.runtime.describe import Injected
from carryover.tasks.runtime.inside.tools import ToolInvocationException, ToolRuntimeException
from carryover.tasks.runtime.inside.values.portable import NotPortableError
from carryover.tasks.runtime.inside.values.tree import Refer
from carryover.tasks.runtime.objects import (
    Binding,
    InjectionError,
    RetrievalError,
    UnknownClassError,
    bind_value,
    read_value,
    write_value,
)
from carryover.tasks.runtime.references import References
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.runtime.transfer import Fetched, check

RunsIn = Literal["host", "sandbox"]
By = Literal["value", "reference"]


class Prepared(NamedTuple):
    """Something that is ready to be bound."""

    binding: Binding
    entry: Injected
    later: tuple[Any, ...] = ()
    """Classes of a class's fields, which may be defined after it."""


class ObjectGate:
    """Checks on objects between the host and an episode's blocks."""

    def __init__(self, spec: RuntimeSpec) -> None:
        self.spec = spec
        self.types: dict[str, type] = {}
        """Injected classes, by name."""
        self.references = References()

    def copy(self) -> "ObjectGate":
        """Return a gate that learns classes alone, sharing live objects."""
        other = ObjectGate(self.spec)
        other.types = dict(self.types)
        other.references = self.references
        return other

    def bind(self, name: str, value: Any, bring: Callable[[UnknownClassError], None]) -> Binding:
        """Return the message that binds a value; `bring` its classes first.

        Raise `InjectionError` if it does not travel.
        """
        limit = self.spec.object_limit_bytes
        while True:
            try:
                return bind_value(
                    name,
                    value,
                    is_user=False,
                    limit_bytes=limit,
                    types=self.types,
                    refer=self.references.standing_for,
                )
            except UnknownClassError as error:
                bring(error)

    def share(self, name: str, value: Any, allow: frozenset[str] | None) -> Binding:
        """Return the message that binds a live object's reference.

        Raise `InjectionError` for one that was never shared.
        """
        try:
            standing = self.references.share(name, value, allow)
        except NotPortableError as error:
            raise InjectionError(f"{name}: {error}") from error
        return Binding(("refer", name, *standing, None if allow is None else sorted(allow)))

    def read(self, name: str, fetched: Fetched) -> Any:
        """Return the value in the sandbox's blob, or raise `RetrievalError`."""
        check(name, fetched, self.spec)
        view = fetched.memory.view()
        return read_value(name, view, self.types, fetched.libraries, refer=self.references.resolve)

    def read_call(self, tool: str, fetched: Fetched) -> tuple[list[Any], dict[str, Any]]:
        """Return a call's arguments, or raise `ToolInvocationException`."""
        try:
            found = self.read(tool, fetched)
        except RetrievalError as error:
            raise ToolInvocationException(f"{error}") from error
        match found:
            case (tuple(arguments), dict(keywords)) if all(type(name) is str for name in keywords):
                return [*arguments], keywords
        raise ToolInvocationException(f"{tool}: malformed arguments")

    def pack(self, tool: str, value: Any, refer: Refer) -> Fetched:
        """Return a result in sealed memory.

        Raise `ToolRuntimeException` if it does not travel or is too large.
        """
        try:
            memory, libraries = write_value(tool, value, self.types, self.spec.object_limit_bytes, refer)
        except InjectionError as error:
            raise ToolRuntimeException(f"{error}; it was a result of {tool}") from error
        return Fetched(memory, libraries)


def kept_form(packed: Fetched) -> tuple[str, str, tuple[str, ...]]:
    """Return a packed result as text, for the journal."""
    return "object", base64.b64encode(packed.memory.view()).decode(), packed.libraries
