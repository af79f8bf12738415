"""Descriptions of injected objects for a prompt, never values."""

import dataclasses
import enum
import functools
import inspect
from itertools import chain
from typing import Any, Literal, NamedTuple

from carryover.tasks.runtime.references import shape_of

ObjectKind = Literal["function", "variable", "type"]


class Injected(NamedTuple):
    """An object that was bound in the namespace (arXiv 2601.01569, object injection)."""

    name: str
    kind: ObjectKind
    description: str
    text: str
    """The entry of the prompt."""


def describe_live(name: str, value: Any, description: str, allowed: frozenset[str] | None) -> Injected:
    """Return the entry for an object that stays in the host."""
    shape = shape_of(value, allowed)
    lines = [f"{name}: {shape.type_name}, a live object outside of the interpreter"]
    texts = [description, shape.documentation]
    for method, text in shape.methods:
        signature, _, documentation = text.partition("\n\n")
        texts.append(f"def {method}{signature}")
        texts += [f"    {line}" for line in documentation.splitlines()]
    properties = _properties_of(type(value), allowed)
    texts += [f"{member}: {documentation}".rstrip(": ") for member, documentation in properties]
    indented = chain.from_iterable(map(str.splitlines, texts))
    lines += [f"    {line}".rstrip() for line in indented]
    return Injected(name, "variable", description, "\n".join(lines))


def _properties_of(kind: type, allowed: frozenset[str] | None) -> list[tuple[str, str]]:
    """Return a class's public properties, documented in a line each."""
    found = []
    for name in dir(kind):
        member = inspect.getattr_static(kind, name)
        is_shown = not name.startswith("_") and (allowed is None or name in allowed)
        if is_shown and isinstance(member, (property, functools.cached_property)):
            found.append((name, (inspect.getdoc(member) or "").partition("\n")[0]))
    return found


def describe(name: str, value: Any, description: str, *, is_data: bool = False) -> Injected:
    """Return the entry for a function, a type or a variable.

    A callable object may be injected as data.
    """
    kind: ObjectKind = "variable"
    documentation = ""
    members = []
    if isinstance(value, type):
        kind = "type"
        head = f"class {name}"
        members = _members(value)
        is_generated = not value.__doc__ or value.__doc__.startswith(f"{value.__name__}(")
        documentation = "" if is_generated else inspect.getdoc(value)
    elif callable(value) and not is_data:
        kind = "function"
        head = f"def {name}{signature_of(value)}"
        documentation = inspect.getdoc(value)
    else:
        library = type(value).__module__.split(".")[0]
        head = f"{name}: {'' if library in ('builtins', '__main__') else f'{library}.'}{type(value).__name__}"
    text = "\n".join(part for part in (description, documentation) if part)
    lines = [head, *(f"    {line}".rstrip() for line in (*text.splitlines(), *members))]
    return Injected(name, kind, description, "\n".join(lines))


def signature_of(function: Any) -> inspect.Signature:
    """Return a function's signature; without one, `(*arguments, **keywords)`."""
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return inspect.signature(lambda *arguments, **keywords: None)


def _members(kind: type) -> list[str]:
    """Return a class's fields, methods and properties.

    Methods and properties have the first line of their documentation.
    """
    methods: list[str] = []
    for name, member in vars(kind).items():
        if not name.startswith("_"):
            methods += _member(name, member)
    if issubclass(kind, enum.Enum):
        return [*kind.__members__, *methods]
    if dataclasses.is_dataclass(kind):
        hints = {field.name: field.type for field in dataclasses.fields(kind)}
    else:
        hints = inspect.get_annotations(kind)
    return [*(f"{field}: {getattr(hint, '__name__', hint)}" for field, hint in hints.items()), *methods]


def _member(name: str, member: Any) -> list[str]:
    """Return the lines of a method or property, or none."""
    function = getattr(member, "__func__", member)
    if inspect.isfunction(function):
        lines = [f"def {name}{signature_of(function)}"]
    elif isinstance(member, (property, functools.cached_property)):
        lines = [f"{name}: {_returned(member)}".rstrip(": ")]
    else:
        return []
    documentation = (inspect.getdoc(member) or "").partition("\n")[0]
    if documentation:
        lines.append(f"    {documentation}")
    return lines


def _returned(member: Any) -> str:
    """Return the type's name that a property is annotated with."""
    getter = getattr(member, "fget", None) or getattr(member, "func", None)
    hint = getattr(getter, "__annotations__", {}).get("return", "")
    return getattr(hint, "__name__", str(hint))
