"""Descriptions of injected objects for a prompt: signatures, docstrings, type schemas; never a value."""

import dataclasses
import enum
import inspect
from typing import Any, Literal, NamedTuple


class Injected(NamedTuple):
    """An object that was bound in the namespace (arXiv 2601.01569, object injection)."""

    name: str
    kind: Literal["function", "variable", "type"]
    description: str
    text: str
    """The entry of the prompt."""


def describe(name: str, value: Any, description: str) -> Injected:
    """Return the entry for a function, a type or a variable."""
    kind: Literal["function", "variable", "type"] = "variable"
    documentation = ""
    members = []
    if isinstance(value, type):
        kind = "type"
        head = f"class {name}"
        members = _members(value)
        is_generated = not value.__doc__ or value.__doc__.startswith(f"{value.__name__}(")
        documentation = "" if is_generated else inspect.getdoc(value)
    elif callable(value):
        kind = "function"
        head = f"def {name}{inspect.signature(value)}"
        documentation = inspect.getdoc(value)
    else:
        library = type(value).__module__.split(".")[0]
        head = f"{name}: {'' if library in ('builtins', '__main__') else f'{library}.'}{type(value).__name__}"
    text = "\n".join(part for part in (description, documentation) if part)
    lines = [head, *(f"    {line}".rstrip() for line in (*text.splitlines(), *members))]
    return Injected(name, kind, description, "\n".join(lines))


def _members(kind: type) -> list[str]:
    methods = [
        f"def {member}{inspect.signature(function)}"
        for member, function in vars(kind).items()
        if inspect.isfunction(function) and not member.startswith("_")
    ]
    if issubclass(kind, enum.Enum):
        return [*kind.__members__, *methods]
    if dataclasses.is_dataclass(kind):
        hints = {field.name: field.type for field in dataclasses.fields(kind)}
    else:
        hints = inspect.get_annotations(kind)
    return [*(f"{field}: {getattr(hint, '__name__', hint)}" for field, hint in hints.items()), *methods]
