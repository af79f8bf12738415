"""What a prompt says of injected objects: signatures, docstrings, type schemas; never a value."""

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
    if isinstance(value, type):
        return Injected(name, "type", description, _type_text(name, value, description))
    if callable(value):
        text = "\n".join(part for part in (description, inspect.getdoc(value)) if part)
        lines = [f"def {name}{inspect.signature(value)}", *_indented(text)]
        return Injected(name, "function", description, "\n".join(lines))
    kind = type(value)
    library = "" if kind.__module__ in ("builtins", "__main__") else f"{kind.__module__.split('.')[0]}."
    lines = [f"{name}: {library}{kind.__name__}", *_indented(description)]
    return Injected(name, "variable", description, "\n".join(lines))


def _type_text(name: str, kind: type, description: str) -> str:
    own_documentation = (
        inspect.getdoc(kind) if kind.__doc__ and not kind.__doc__.startswith(f"{kind.__name__}(") else ""
    )
    lines = [f"class {name}", *_indented("\n".join(part for part in (description, own_documentation) if part))]
    if issubclass(kind, enum.Enum):
        lines += [f"    {member}" for member in kind.__members__]
    elif dataclasses.is_dataclass(kind):
        lines += [f"    {field.name}: {_annotation(field.type)}" for field in dataclasses.fields(kind)]
    else:
        lines += [f"    {field}: {_annotation(hint)}" for field, hint in inspect.get_annotations(kind).items()]
    for member, function in vars(kind).items():
        if inspect.isfunction(function) and not member.startswith("_"):
            lines.append(f"    def {member}{inspect.signature(function)}")
    return "\n".join(lines)


def _annotation(hint: Any) -> str:
    return hint if isinstance(hint, str) else getattr(hint, "__name__", str(hint))


def _indented(text: str) -> list[str]:
    return [f"    {line}".rstrip() for line in text.splitlines()]
