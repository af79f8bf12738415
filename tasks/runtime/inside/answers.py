"""Answers to what a host asks of one process's state, between its blocks."""

import functools
from _blake2 import blake2b  # hashlib would load OpenSSL into every interpreter
from collections.abc import Callable, Sequence
from os import close  # a reference of our own: a block may rebind what a module holds
from typing import Any

from .folder import FolderError
from .namespace import hash_state
from .step import StepRunner

_ERROR_LIMIT = 1000
"""Characters of an error that is passed to the host."""
_TYPE_LIMIT = 100
_DIGESTS_LIMIT = 300
_FINGERPRINT_LIMIT_BYTES = 16 << 20


class Answers:
    """The messages that need an answer; each method has its message's name."""

    def __init__(self, runner: StepRunner, *, builds_late: bool) -> None:
        self.runner = runner
        self.builds_late = builds_late
        """Whether injected values wait for a fork that runs blocks: a library may start threads, which no fork has."""
        self._unbuilt: dict[str, Callable[..., Any]] = {}
        self._outgoing: Any = None

    def build(self) -> None:
        """Build the injected values that waited, and no others late."""
        self.builds_late = False
        for name, build in self._unbuilt.items():
            self.runner.inject(name, build(self.runner.own), is_own=False)
        self._unbuilt = {}

    def drop(self, names: list[str] | None) -> int:
        """Remove names, or all of the user's; return their count."""
        count = len(self.runner.namespace)
        self.runner.forget(names)
        return count - len(self.runner.namespace)

    def tool(self, name: str, documentation: str, takes_objects: bool = True) -> None:
        """Bind the stub of another tool."""
        self._unbuilt.pop(name, None)
        self.runner.add_tools({name: documentation}, takes_objects=takes_objects)

    def define(self, name: str, source: str, imports: Sequence[Any] = ()) -> str | None:
        """Bind a function or type from source; return any problem."""
        from .values import injection

        try:
            defined = injection.define(name, source, imports, self.runner.own)
            self._unbuilt.pop(name, None)
            self.runner.inject(name, defined, is_own=True)
        except Exception as error:  # noqa: BLE001 - the source may raise anything; the answer names it
            if isinstance(error, NameError) and error.name:
                return f"its source uses {error.name}, which the sandbox lacks; inject that first"[:_ERROR_LIMIT]
            return f"{type(error).__name__}: {error}"[:_ERROR_LIMIT]

    def refer(self, name: str, *standing: Any) -> None:
        """Bind what stands for a live object of the host's."""
        self._unbuilt.pop(name, None)
        *said, _allowed = standing
        self.runner.inject(name, self.runner.line.refer(*said), is_own=False)

    def bind(self, name: str, is_user: bool, size: int, descriptor: int) -> str | None:
        """Bind a value from shared memory; return any error.

        In a root it is bound when the root is left.
        """
        from .values import transfer, tree

        try:
            blob = transfer.take(descriptor, size)
            build = functools.partial(tree.decode, blob, makes_records=False, refer=self.runner.line.refer)
            if is_user:
                self.runner.namespace[name] = build(self.runner.own)
            elif self.builds_late:
                self._unbuilt.pop(name, None)  # a name that is bound anew before each block is built once, as the last
                self._unbuilt[name] = build
            else:
                self.runner.inject(name, build(self.runner.own), is_own=False)
        except Exception as error:  # noqa: BLE001 - a forged blob may raise anything; the answer names it
            return reason_of(error)

    def fetch(self, name: str) -> dict[str, Any]:
        """Send the size of a variable's blob.

        It waits until the host has made room for it.
        """
        if name not in self.runner.namespace:
            return {"missing": name}
        return self._offer(lambda: self.runner.namespace[name])

    def _offer(self, find: Callable[[], Any]) -> dict[str, Any]:
        from .values import tree as values

        self._outgoing = None
        try:
            self._outgoing = encoded = values.encode(find())
            return {"size": encoded.size, "libraries": encoded.libraries}
        except (values.NotPortableError, FolderError) as error:
            return {"error": f"{error}"[:_ERROR_LIMIT]}
        except Exception as error:  # noqa: BLE001 - the object's own code may raise anything
            return {"error": f"{type(error).__name__}: {error}"[:_ERROR_LIMIT]}

    def fill(self, descriptor: int) -> str | None:
        """Write the waiting blob into shared memory; return the error, if any."""
        from .values import transfer

        try:
            transfer.fill(descriptor, self._outgoing)
        except OSError as error:
            return reason_of(error)
        finally:
            close(descriptor)
            self._outgoing = None

    def types(self) -> dict[str, str]:
        """Send each user variable's type name, without running its code."""
        values = self.runner.user_values()
        return {name: _type_name(type(value)) for name, value in values.items()}

    def digests(self) -> dict[str, str]:
        """Send a digest of the first hundreds of variables."""
        values = self.runner.user_values()
        try:
            return {name: hash_state({name: values[name]}) for name in [*values][:_DIGESTS_LIMIT]}
        except (RuntimeError, IndexError, TypeError, MemoryError):  # a thread changes values meanwhile, or no room
            return {}

    def fingerprints(self) -> dict[str, str]:
        """Send a digest of each variable's content, or its type.

        The type stands for what is large or has no form to travel in.
        """
        values = self.runner.user_values()
        return {name: _fingerprint(values[name]) for name in [*values][:_DIGESTS_LIMIT]}

    def place(self, name: str, size: int, descriptor: int) -> str | None:
        """Put a file into the scratch folder; return any error."""
        from .values import transfer

        try:
            self.runner.folder.place(name, bytes(transfer.take(descriptor, size)[:size]))
        except (FolderError, OSError, MemoryError) as error:
            return reason_of(error)

    def read(self, name: str) -> dict[str, Any]:
        """Send the size of a file's blob.

        It waits until the host has made room for it.
        """
        return self._offer(lambda: self.runner.folder.get(name))

    def shown(self) -> dict[str, Any]:
        """Send the size of the rich results' blob.

        It waits until the host has made room for it.
        """
        return self._offer(lambda: self.runner.showing.results)

    def pack(self) -> dict[str, Any]:
        """Send the size of the blob of all files.

        It waits until the host has made room for it.
        """
        return self._offer(self.runner.folder.pack)

    def unpack(self, size: int, descriptor: int) -> str | None:
        """Make the scratch folder what was packed; return the error, if any."""
        from .values import transfer, tree

        try:
            self.runner.folder.unpack(tree.decode(transfer.take(descriptor, size), {}))
        except Exception as error:  # noqa: BLE001 - a forged blob may raise anything; the answer names it
            return reason_of(error)

    def resume(self) -> dict[str, Any]:
        """Resume from a copy: put shared things back, report the rest."""
        return self.runner.shared.resume(self.runner.folder.inodes())

    def clear(self) -> None:
        """Empty the scratch folder where it forgets."""
        self.runner.folder.forget()

    def files(self) -> dict[str, int]:
        """Give the size of each file in the scratch folder."""
        return self.runner.folder.sizes()

    def canaries(self) -> list[str | None]:
        """Say what the namespace and the scratch folder remember."""
        return [self.runner.canary(), self.runner.folder.canary()]


def _type_name(kind: type) -> str:
    """Return a type's name with its library, against metaclass tricks.

    The descriptors of `type` are read: a metaclass may bend both names.
    """
    name = type.__dict__["__name__"].__get__(kind)
    module = type.__dict__["__module__"].__get__(kind)
    library = ""
    if type(module) is str:
        library = module.partition(".")[0]
    return (name if library in ("", "builtins", "__main__") else f"{library}.{name}")[:_TYPE_LIMIT]


def _fingerprint(value: Any) -> str:
    from .values import tree

    kind = _type_name(type(value))
    try:
        encoded = tree.encode(value)
        if encoded.size > _FINGERPRINT_LIMIT_BYTES:
            return f"{kind} of {encoded.size} bytes"
        content = memoryview(bytearray(encoded.size))
        encoded.write(content)
    except Exception:  # noqa: BLE001 - it does not travel, or the object's own code fails
        return kind
    return f"{kind} {blake2b(content, digest_size=16).hexdigest()}"


def reason_of(error: Exception) -> str:
    """Return why a value cannot be bound or read, and the remedy."""
    if isinstance(error, (MemoryError, OSError)):
        return f"no room for it in the interpreter ({error}); delete what is not needed, or raise memory_limit_bytes"
    return f"{error}"[:_ERROR_LIMIT]
