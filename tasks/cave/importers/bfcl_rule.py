"""BFCL's AST rule: calls judged by names, types and values."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

_TYPES: dict[str, type] = {
    "string": str,
    "integer": int,
    "float": float,
    "boolean": bool,
    "array": list,
    "tuple": list,
    "dict": dict,
    "any": str,
}
_IGNORED = re.compile(r"[ ,./\-_*^]")
OMITTED = ""
"""Among the accepted values of a parameter: it may be left out."""


class Accepted(NamedTuple):
    """A call that is wanted: each parameter with its accepted values."""

    function: str
    values: Mapping[str, list[Any]]


def wrong_calls(
    schemas: Mapping[str, Mapping[str, Any]], made: Sequence[tuple[str, Mapping[str, Any]]], wanted: Sequence[Accepted]
) -> tuple[str, ...]:
    """Return why calls differ from the wanted ones; empty if equal."""
    if len(made) != len(wanted):
        return (f"{len(made)} calls, expected {len(wanted)}",)
    left = list(made)
    for accepted in wanted:
        schema = schemas[accepted.function]
        found = next((call for call in left if is_accepted(schema, call, accepted)), None)
        if found is None:
            return (f"no call is {accepted.function}({dict(accepted.values)})",)
        left.remove(found)
    return ()


def is_accepted(schema: Mapping[str, Any], call: tuple[str, Mapping[str, Any]], accepted: Accepted) -> bool:
    """Tell whether one call is an accepted one."""
    name, arguments = call
    declared = schema["properties"]
    if name != accepted.function or not arguments.keys() >= set(schema.get("required", ())):
        return False
    if any(key not in declared or key not in accepted.values for key in arguments):
        return False
    if any(key not in arguments and OMITTED not in values for key, values in accepted.values.items()):
        return False
    return all(_is_value(declared[key], value, accepted.values[key]) for key, value in arguments.items())


def _is_value(declared: Mapping[str, Any], value: Any, accepted: list[Any]) -> bool:
    """Tell whether an argument is among the accepted values of its parameter."""
    kind = _TYPES[declared["type"]]
    if declared["type"] == "float" and type(value) is int:
        return _is_value(declared, float(value), accepted)
    answers = [answer for answer in accepted if answer != OMITTED]
    if type(value) is not kind:
        return _stands_for_a_value(value, answers, accepted)
    inner = _inner_type(declared)
    if inner is not None and not _has_inner(inner, value, accepted):
        return False
    if answers and type(answers[0]) is not kind:
        return value in accepted
    return _is_of_kind(kind, inner, value, accepted)


def _is_of_kind(kind: type, inner: type | None, value: Any, accepted: list[Any]) -> bool:
    """Tell whether a value of the declared type is accepted."""
    if kind is dict:
        return any(_is_dict(value, answer) for answer in accepted)
    if inner is dict:
        return any(_are_dicts(value, answer) for answer in accepted)
    of_kind = [answer for answer in accepted if isinstance(answer, str) is (kind is str)]
    return _is_option(value, of_kind)


def _inner_type(declared: Mapping[str, Any]) -> type | None:
    """Return a list's element type, or None."""
    is_list = declared["type"] in ("array", "tuple")
    if is_list:
        return _TYPES[declared["items"]["type"]]
    return None


def _stands_for_a_value(value: Any, answers: list[Any], accepted: list[Any]) -> bool:
    """Tell whether another type's value, as a variable's name, is accepted."""
    return bool(answers) and type(value) is type(answers[0]) and value in accepted


def _has_inner(inner: type, values: list[Any], accepted: list[Any]) -> bool:
    """Tell whether elements have the declared or an accepted type."""

    def fits(value: Any, answer: list[Any]) -> bool:
        first = next((one for one in answer if one != OMITTED), None)
        return type(value) is inner or (first is not None and type(value) is type(first))

    return any(not isinstance(answer, list) or all(fits(value, answer) for value in values) for answer in accepted)


def _are_dicts(values: list[Any], answers: Any) -> bool:
    return len(values) == len(answers) and all(map(_is_dict, values, answers))


def _is_dict(value: Any, answer: Any) -> bool:
    """Tell whether a dictionary has all required keys and accepted values."""
    if not isinstance(value, dict) or not isinstance(answer, dict):
        return False
    if any(key not in value and OMITTED not in options for key, options in answer.items()):
        return False
    return all(_is_option(one, answer.get(key, ())) for key, one in value.items())


def _is_option(value: Any, options: Sequence[Any]) -> bool:
    return _plain(value) in [_plain(option) for option in options]


def _plain(value: Any) -> Any:
    """Return texts without case, spaces and common signs."""
    if isinstance(value, str):
        return _IGNORED.sub("", value).lower().replace("'", '"')
    if isinstance(value, list):
        return [_plain(one) if isinstance(one, str) else one for one in value]
    return value
