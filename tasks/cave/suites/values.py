"""Values of a case as JSON, and as source that builds them."""

import dataclasses
import math
from collections.abc import Iterable, Mapping
from numbers import Number
from typing import Any

Json = Any
"""Plain JSON data."""
_RELATIVE = 1e-6
_ABSOLUTE = 1e-9
_FORMS = {
    "DataFrame": ("import pandas\n", "pandas.DataFrame({})", "{}.to_dict('list')"),
    "Series": ("import pandas\n", "pandas.Series({})", "{}.to_dict()"),
    "ndarray": ("import numpy\n", "numpy.array({})", "{}.tolist()"),
    "set": ("", "set({})", "sorted({})"),
}
_KINDS = (bool, Number, str, list, tuple, set, frozenset, dict)


def as_json(value: Any) -> Json:
    """Return a value as JSON.

    Arrays and sets become lists, frames columns, series values by label, objects fields, and anything else the name of
    its type.
    """
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            if math.isfinite(value):
                return value
            return str(value)
        case Mapping():
            return {str(key): as_json(inner) for key, inner in value.items()}
        case list() | tuple() | set() | frozenset():
            ordered = sorted(value, key=str) if isinstance(value, set | frozenset) else value
            return [as_json(inner) for inner in ordered]
    return _object_as_json(value)


def _object_as_json(value: Any) -> Json:
    if is_record(value):
        return {field.name: as_json(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if hasattr(value, "columns"):
        return {str(name): as_json(value[name].tolist()) for name in value.columns}
    if type(value).__name__ == "Series":
        return as_json(value.to_dict())
    if hasattr(value, "tolist"):
        return as_json(value.tolist())
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return f"<{type(value).__name__}>"


def kind_of(value: Any) -> str:
    """Return a value's kind; numbers of every library are one kind."""
    return next((kind.__name__ for kind in _KINDS if isinstance(value, kind)), type(value).__name__)


def index_of(value: Any) -> list[Json] | None:
    """Return the labels of a frame's or a series' rows; None for other values."""
    index = getattr(value, "index", None)
    if index is None or not hasattr(index, "tolist"):
        return None
    return as_json(index.tolist())


def is_record(value: Any) -> bool:
    """Tell whether a value is an instance of a dataclass."""
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def from_json(value: Json, like: Any) -> Any:
    """Return JSON as a value of the same type as another one."""
    names = {type(like).__name__: type(like), "value": value}
    exec(rebuilding("built", like, "value"), names)
    return names["built"]


def rebuilding(name: str, like: Any, source: str) -> str:
    """Return the assignment that builds a variable from source that gives it as JSON."""
    imported, built, _ = _form(like)
    return f"{imported}{name} = {built.format(source)}"


def telling(name: str, like: Any) -> str:
    """Return the expression that gives a variable as JSON."""
    return _form(like)[2].format(name)


def _form(like: Any) -> tuple[str, str, str]:
    """Return imports, and templates from JSON and to JSON."""
    name = type(like).__name__
    if is_record(like):
        return ("", f"{name}(**{{}})", "vars({})")
    return _FORMS.get(name, ("", "{}", "{}"))


def are_same(expected: Json, actual: Json) -> bool:
    """Tell whether JSON values agree, fractions up to a relative 1e-6."""
    match expected, actual:
        case (bool(), _) | (_, bool()):
            return expected is actual
        case float(), int() | float():
            return math.isclose(expected, actual, rel_tol=_RELATIVE, abs_tol=_ABSOLUTE)
        case dict(), dict():
            return expected.keys() == actual.keys() and _all_same(expected.values(), map(actual.get, expected))
        case list(), list():
            return len(expected) == len(actual) and _all_same(expected, actual)
    return expected == actual


def _all_same(expected: Iterable[Json], actual: Iterable[Json]) -> bool:
    return all(map(are_same, expected, actual))


def differing(expected: Mapping[str, Json], actual: Mapping[str, Json]) -> tuple[str, ...]:
    """Return the names at which two states differ, sorted."""
    names = sorted(expected.keys() | actual.keys())
    absent = object()
    return tuple(name for name in names if not are_same(expected.get(name, absent), actual.get(name, absent)))
