"""Codecs of types, and errors for values that do not travel."""

from collections.abc import Callable
from typing import Any, NamedTuple


class NotPortableError(Exception):
    """The value does not travel."""


class MissingTypeError(NotPortableError):
    """The reader must know a class first."""

    def __init__(self, kind: type) -> None:
        super().__init__(f"an instance of {kind.__name__} needs its type first: inject {kind.__name__}")
        self.kind = kind


class Content(NamedTuple):
    """Bytes of a value, written to their place without a copy."""

    size: int
    write: Callable[[memoryview], Any]


class Codec(NamedTuple):
    """Transfer of one type's values."""

    split: Callable[[Any], Any]
    """Returns a list of parts, each a value that travels, or a tuple of such a list and a `Content`."""
    make: Callable[..., Any] = lambda kind, *parts: kind(*parts)
    """Returns the value from its type, its parts, and its content where it has one."""
    fill: Callable[[Any, list[Any]], Any] | None = None
    """Fills a mutable value with its parts. `make` got them undecoded then: a cycle closes in between."""


def raw(data: Any) -> tuple[list[Any], Content]:
    """Return what a value splits into that consists of bytes."""
    return [], Content(len(data), lambda target: target.__setitem__(slice(None), data))


class Reference:
    """A live host object in a block.

    `inside/references.py` makes its classes.
    """

    __slots__ = ("_handle",)

    def __init__(self, handle: str) -> None:
        object.__setattr__(self, "_handle", handle)


_JSON_CONSTANTS = frozenset((type(None), bool, int, float, str))


def is_json(value: Any) -> bool:
    """Tell whether JSON carries a value unchanged.

    Raise `RecursionError` for one that holds itself.
    """
    kind = type(value)
    if kind in _JSON_CONSTANTS:
        return True
    if kind is list:
        return all(map(is_json, value))
    if kind is dict:
        return all(type(key) is str for key in value) and all(map(is_json, value.values()))
    return False


def check_keys(value: Any) -> None:
    """Raise `TypeError` for a key that JSON would turn into a text."""
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"keys must be str, not {type(key).__name__}")
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        return
    for item in value:
        check_keys(item)
