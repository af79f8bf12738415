"""Live objects by reference: every use is a tool call."""

import builtins
import contextlib
import functools
import inspect
import threading
import types
from collections.abc import Mapping
from typing import Any, NamedTuple

from carryover.tasks.runtime.inside.tools import ToolError, ToolInvocationException
from carryover.tasks.runtime.inside.values.portable import NotPortableError
from carryover.tasks.runtime.inside.values.tree import Refer, is_data
from carryover.tasks.services.background import awaited

_HELD_LIMIT = 10_000
"""Objects that an interpreter's blocks may hold: each stays in the host's memory."""
_TEXT_LIMIT = 300
"""Characters of a method's or an object's documentation."""
_MESSAGE_LIMIT = 10_000
_READING = ("__len__", "__iter__", "__next__", "__getitem__", "__contains__")
"""Operators that are offered whatever is allowed."""
_ACTING = ("__call__", "__setitem__", "__delitem__", "__enter__", "__exit__")
_NEVER_SHARED = (types.ModuleType, type, types.FrameType, types.CodeType, types.TracebackType)
"""Ways out of an object to everything else that the host has loaded."""
_WITHOUT_ATTRIBUTES = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    functools.partial,
    types.GeneratorType,
    types.CoroutineType,
    types.AsyncGeneratorType,
)
"""Their public attributes lead to frames and closures; operators are all that a block has of them."""


class Shape(NamedTuple):
    """Description of an object, for the stub in a block."""

    type_name: str
    documentation: str
    methods: tuple[tuple[str, str], ...]
    """Names with their documentation."""
    operators: tuple[str, ...]


class _Held(NamedTuple):
    value: Any
    allowed: frozenset[str] | None
    """Public names that a block may use; None for all."""
    shape: Shape

    def permits(self, name: str) -> bool:
        """Tell whether a block may reach an attribute."""
        is_public = not name.startswith("_") and not isinstance(self.value, _WITHOUT_ATTRIBUTES)
        return is_public and (self.allowed is None or name in self.allowed)


class References:
    """The objects of the host that blocks hold, by handle."""

    def __init__(self) -> None:
        self._held: dict[str, _Held] = {}
        self._handles: dict[int, str] = {}
        self._generation = 0
        self._lock = threading.Lock()

    def begin_generation(self, number: int) -> None:
        """Name new objects by a new generation.

        Recorded blocks may hold the handles of objects that are gone.
        """
        self._generation = max(number, self._generation)

    def share(self, name: str, value: Any, allowed: frozenset[str] | None) -> list[Any]:
        """Hold an object under a name; return its reference.

        Raises:
            NotPortableError: No block may hold such an object, or too many are held.
        """
        with self._lock:
            handle = name
            while handle in self._held and self._held[handle].value is not value:
                handle = f"{handle}'"
            return self._hold(handle, value, allowed)

    def standing_for(self, value: Any) -> list[Any] | None:
        """Return a held object's reference, or None."""
        handle = self._handles.get(id(value))
        if handle is None:
            return None
        return [handle, *self._held[handle].shape]

    def granting(self, allowed: frozenset[str] | None, known: Mapping[str, type]) -> Refer:
        """Return the referring function for a result's values.

        Live objects in it are held from then on.
        """

        def refer(value: Any) -> list[Any] | None:
            standing = self.standing_for(value)
            if standing is not None or is_data(type(value), known):
                return standing
            with self._lock:
                handle = f"{type(value).__name__}#{self._generation}.{len(self._held)}"
                return self._hold(handle, value, allowed)

        return refer

    def resolve(self, handle: Any, *_said: Any) -> Any:
        """Return the object behind a handle; raise `NotPortableError` if none is there."""
        if type(handle) is not str or handle not in self._held:
            raise NotPortableError(f"{handle!r:.100} refers to nothing that the host holds; inject it again")
        return self._held[handle].value

    def find(self, tool: str) -> "Operation | None":
        """Return the operation of `handle.name`, or None."""
        handle, _, name = tool.rpartition(".")
        if handle in self._held:
            return Operation(self, self._held[handle], name)
        return None

    def _hold(self, handle: str, value: Any, allowed: frozenset[str] | None) -> list[Any]:
        if isinstance(value, _NEVER_SHARED):
            raise NotPortableError(f"a {type(value).__name__} does not travel, by value or by reference")
        if len(self._held) >= _HELD_LIMIT:
            raise NotPortableError(f"blocks hold {_HELD_LIMIT} objects of the host already; return data instead")
        held = _Held(value, allowed, shape_of(value, allowed))
        self._held[handle] = held
        self._handles[id(value)] = handle
        return [handle, *held.shape]


class Operation:
    """One use of an object: method, operator or attribute."""

    takes_objects = True

    def __init__(self, references: References, held: _Held, name: str) -> None:
        self._held = held
        self._name = name
        self._references = references

    def refer(self, known: Mapping[str, type]) -> Refer:
        """Return references for a result's live objects.

        They allow what this object allows.
        """
        return self._references.granting(self._held.allowed, known)

    def bind(self, _arguments: list[Any], _keywords: dict[str, Any]) -> dict[str, Any] | None:
        """Return None: arguments are recorded as they were given."""
        return None

    def call(self, arguments: list[Any], keywords: dict[str, Any], _bound: dict[str, Any] | None) -> Any:
        """Return the result; raise a `ToolError` named like a builtin exception."""
        try:
            return awaited(self._do(arguments, keywords))
        except ToolError:
            raise
        except Exception as error:
            raise _named_like(error) from error

    def _do(self, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        value = self._held.value
        name = self._name
        shape = self._held.shape
        if name in shape.operators:
            return _operate(value, name, arguments, keywords)
        if name in dict(shape.methods):
            return getattr(value, name)(*arguments, **keywords)
        if not self._held.permits(name):
            raise AttributeError(f"{shape.type_name!r} object has no attribute {name!r}")
        if arguments:
            setattr(value, name, *arguments)
            return None
        return getattr(value, name)


def shape_of(value: Any, allowed: frozenset[str] | None) -> Shape:
    """Return what a block is told of an object that is shared."""
    kind = type(value)
    operators = [name for name in _READING if _has(kind, name)]
    operators += [name for name in _ACTING if _has(kind, name) and (allowed is None or name in allowed)]
    methods: list[tuple[str, str]] = []
    if not isinstance(value, _WITHOUT_ATTRIBUTES):
        methods = [(name, _document(member)) for name, member in _methods_of(kind, allowed)]
    documentation = (inspect.getdoc(kind) or "")[:_TEXT_LIMIT]
    return Shape(kind.__name__, documentation, tuple(methods), tuple(operators))


def _has(kind: type, operator: str) -> bool:
    # Not `getattr`: it finds the operators of the class of `kind`, which every class is called by.
    for base in kind.__mro__:
        if operator in vars(base):
            return vars(base)[operator] is not None
    return False


def _methods_of(kind: type, allowed: frozenset[str] | None) -> list[tuple[str, Any]]:
    """Return the public methods of a class, by name."""
    found = []
    for name in dir(kind):
        is_allowed = allowed is None or name in allowed
        if name.startswith("_") or not is_allowed:
            continue
        member = inspect.getattr_static(kind, name)
        if callable(member):
            found.append((name, member))
    return found


def _document(member: Any) -> str:
    """Return a method's signature and the first paragraph of its documentation."""
    function = getattr(member, "__func__", member)
    try:
        signature = str(inspect.signature(function))
    except (TypeError, ValueError):
        signature = "(...)"
    paragraph = (inspect.getdoc(function) or "").partition("\n\n")[0]
    return f"{signature}\n\n{paragraph}".rstrip()[:_TEXT_LIMIT]


def _operate(value: Any, operator: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    match operator:
        case "__next__":
            try:
                return [next(value)]
            except StopIteration:
                return []
        case "__exit__":
            return bool(value.__exit__(*_raised(*arguments)))
        case "__iter__":
            return iter(value)
        case "__call__":
            return value(*arguments, **keywords)
    return getattr(type(value), operator)(value, *arguments)


def _raised(kind_name: str | None, text: str | None) -> tuple[type | None, BaseException | None, None]:
    """Return `__exit__`'s arguments for the error that left a block."""
    if kind_name is None:
        return None, None, None
    kind = getattr(builtins, kind_name, None)
    if not (isinstance(kind, type) and issubclass(kind, Exception)):
        return RuntimeError, RuntimeError(f"{kind_name}: {text}"), None
    error = RuntimeError(text)
    with contextlib.suppress(TypeError):  # one that takes other arguments
        error = kind(text)
    return type(error), error, None


def _named_like(error: Exception) -> ToolError:
    """Return a tool's error, named like a builtin exception if any."""
    text = str(error)[:_MESSAGE_LIMIT]
    kind = type(error)
    if kind.__module__ != "builtins":
        return type("ToolRuntimeException", (ToolError,), {})(f"{kind.__name__}: {text}")
    if isinstance(error, KeyError) and error.args:
        text = str(error.args[0])[:_MESSAGE_LIMIT]
    return type(kind.__name__, (ToolError,), {})(text)


def refuse_unknown(tool: str, names: list[str]) -> ToolInvocationException:
    """Return the error for a call of something that is not there."""
    if "." in tool:
        handle = tool.rpartition(".")[0]
        return ToolInvocationException(f"{handle} is not there any more; it was an object of a host that has ended")
    return ToolInvocationException(f"unknown tool {tool!r}; there are {', '.join(names)}")
