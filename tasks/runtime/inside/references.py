"""References: stand-ins in a block for live host objects.

Each use of one is a tool call. Methods and operators are those that the host has named; another public attribute is
read and set by a call as well.
"""

from collections.abc import Callable
from typing import Any

from .tools import ToolLine
from .values.portable import Reference

_OPERATORS = frozenset(
    ("__call__", "__len__", "__iter__", "__getitem__", "__setitem__", "__delitem__", "__contains__", "__enter__")
)
"""Operators that are a call and nothing else."""


class References:
    """A process's references by handle, one per host object."""

    def __init__(self, line: ToolLine) -> None:
        self._line = line
        self._known: dict[str, Reference] = {}
        self._classes: dict[Any, type[Reference]] = {}

    def refer(self, handle: str, type_name: str, documentation: str, methods: Any, operators: Any) -> Reference:
        """Return what stands for an object of the host's."""
        if handle not in self._known:
            named = tuple(tuple(method) for method in methods)
            self._known[handle] = self._class_of(type_name, documentation, named, tuple(operators))(handle)
        return self._known[handle]

    def _class_of(self, type_name: str, documentation: str, methods: Any, operators: Any) -> type[Reference]:
        key = type_name, methods, operators
        if key not in self._classes:
            self._classes[key] = _make_class(self._line, type_name, documentation, dict(methods), operators)
        return self._classes[key]


def _make_class(
    line: ToolLine, type_name: str, documentation: str, methods: dict[str, str], operators: tuple[str, ...]
) -> type[Reference]:
    """Return the class of references to one type of the host's."""

    def call(one: Reference, name: str, *arguments: Any, **keywords: Any) -> Any:
        handle = object.__getattribute__(one, "_handle")
        return line.call(f"{handle}.{name}", arguments, keywords, takes_objects=True)

    def get(one: Reference, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{type_name!r} object has no attribute {name!r}")
        return call(one, name)

    def set_attribute(one: Reference, name: str, value: Any) -> None:
        if name.startswith("_"):
            raise AttributeError(f"{type_name!r} object has no attribute {name!r}")
        call(one, name, value)

    def show(one: Reference) -> str:
        return f"<{type_name} {object.__getattribute__(one, '_handle')}, kept by the host>"

    members: dict[str, Any] = {
        "__slots__": (),
        "__doc__": documentation,
        "__module__": "__main__",
        "__getattr__": get,
        "__setattr__": set_attribute,
        "__repr__": show,
    }
    for name, text in methods.items():
        members[name] = _method(call, name, text)
    for name in _OPERATORS.intersection(operators):
        members[name] = _method(call, name, "")
    if "__next__" in operators:
        members["__next__"] = _next_of(call)
    if "__exit__" in operators:
        members["__exit__"] = _exit_of(call)
    return type(type_name, (Reference,), members)


def _method(call: Callable[..., Any], name: str, text: str) -> Any:
    def method(self: Any, *arguments: Any, **keywords: Any) -> Any:
        return call(self, name, *arguments, **keywords)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = text
    return method


def _next_of(call: Callable[..., Any]) -> Any:
    def advance(self: Any) -> Any:
        found = call(self, "__next__")
        if not found:
            raise StopIteration
        return found[0]

    return advance


def _exit_of(call: Callable[..., Any]) -> Any:
    def leave(self: Any, kind: Any, error: Any, _traceback: Any) -> bool:
        if kind is None:
            return call(self, "__exit__", None, None)
        return call(self, "__exit__", kind.__name__, str(error))

    return leave
