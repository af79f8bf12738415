"""Differences between two runs, in words."""

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

ABSENT = "nothing"
Sides = tuple[str, str]
"""Names of the two that are compared."""
FIRST_AND_SECOND: Sides = ("the first", "the second")


def describe_difference(
    first: Mapping[str, Any], second: Mapping[str, Any], sides: Sides = FIRST_AND_SECOND
) -> list[str]:
    """Return a sentence per field that differs between JSON objects.

    Lists of the same length are compared place by place, so one changed seed is one sentence. Of lists of different
    lengths both are shown whole, or, where they hold objects, their lengths and what differs in the places that both
    have.
    """
    return list(_differences("", first, second, sides))


def _differences(name: str, first: Any, second: Any, sides: Sides) -> Iterator[str]:
    one, other = sides
    match first, second:
        case Mapping(), Mapping():
            for key in sorted(first.keys() | second.keys()):
                inner = f"{name}.{key}" if name else str(key)
                yield from _differences(inner, first.get(key, ABSENT), second.get(key, ABSENT), sides)
        case list(), list() if len(first) == len(second) or any(isinstance(each, Mapping) for each in first + second):
            if len(first) != len(second):
                yield f"number of {name}: {len(first)} in {one}, {len(second)} in {other}"
            for place, (left, right) in enumerate(zip(first, second, strict=False)):
                yield from _differences(f"{name}[{place}]", left, right, sides)
        case _ if first != second:
            yield f"{name}: {_tell(first)} in {one}, {_tell(second)} in {other}"


def _tell(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_tell(inner)}" for key, inner in value.items())
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return f"`{shlex.join(value)}`"
    if isinstance(value, str) and value != ABSENT:
        return f"'{value}'"
    return str(value)
