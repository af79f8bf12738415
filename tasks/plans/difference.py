"""What differs between two runs, in words."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

ABSENT = "nothing"


def describe_difference(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[str]:
    """Return one sentence per field that differs between two JSON objects, in order of their dotted names.

    Lists of the same length are compared place by place, so one changed seed is one sentence; of lists of different
    lengths both are told whole.
    """
    left, right = dict(_leaves(first)), dict(_leaves(second))
    names = sorted(left.keys() | right.keys())
    return [
        f"{name}: {_tell(left.get(name, ABSENT))} in the first, {_tell(right.get(name, ABSENT))} in the second"
        for name in _drop_nested(names, left, right)
        if left.get(name, ABSENT) != right.get(name, ABSENT)
    ]


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _leaves(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list) and value:
        yield f"number of {name}", len(value)
        for place, inner in enumerate(value):
            yield from _leaves(inner, f"{name}[{place}]")
    elif name:
        yield name, value


def _drop_nested(names: list[str], left: Mapping[str, Any], right: Mapping[str, Any]) -> Iterator[str]:
    """Leave out the places of a list beyond the shorter one's end: its length says enough."""
    for name in names:
        places = ((name[: place.start()], int(place[1])) for place in re.finditer(r"\[(\d+)\]", name))
        if all(index < _shorter_length(list_name, left, right) for list_name, index in places):
            yield name


def _shorter_length(list_name: str, left: Mapping[str, Any], right: Mapping[str, Any]) -> int:
    length = f"number of {list_name}"
    return min(left.get(length, 0), right.get(length, 0))


def _tell(value: Any) -> str:
    return f"'{value}'" if isinstance(value, str) and value != ABSENT else str(value)
