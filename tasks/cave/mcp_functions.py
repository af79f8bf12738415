"""Tools of an MCP server as Python functions."""

import base64
import inspect
import json
import keyword
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

from carryover.tasks.runtime.inside.tools import ToolInvocationException, ToolRuntimeException

OTHERS = "others"
"""Keyword arguments whose names are no Python identifiers."""
_TYPES = {"string": str, "integer": int, "number": float, "boolean": bool, "array": list, "object": dict}

Call = Callable[[str, dict[str, Any]], Awaitable[Mapping[str, Any]]]
"""Calls a tool by its name and arguments, and returns its result as the protocol has it."""


class ListedTool(NamedTuple):
    """A tool as its server lists it."""

    name: str
    description: str = ""
    schema: Mapping[str, Any] = {}
    """JSON Schema of the arguments."""


def function_of(tool: ListedTool, call: Call) -> Callable[..., Awaitable[Any]]:
    """Return a function with the tool's parameters and documentation."""
    signature = _signature(tool.schema)

    async def function(*arguments: Any, **keywords: Any) -> Any:
        given = signature.bind(*arguments, **keywords).arguments
        given |= given.pop(OTHERS, {})
        return value_of(tool.name, await call(tool.name, _as_json(tool.name, given)))

    function.__name__ = function.__qualname__ = identifier_of(tool.name)
    function.__doc__ = _documentation(tool)
    function.__signature__ = signature  # type: ignore[attr-defined]
    annotated = {one.name: one.annotation for one in signature.parameters.values()}
    function.__annotations__ = {name: kind for name, kind in annotated.items() if kind is not inspect.Parameter.empty}
    return function


def identifier_of(name: str) -> str:
    """Return a tool's name as a Python identifier: `get-time` is `get_time`."""
    cleaned = re.sub(r"\W", "_", name)
    if cleaned[:1].isdigit() or keyword.iskeyword(cleaned):
        return f"_{cleaned}"
    return cleaned


def value_of(tool: str, result: Mapping[str, Any]) -> Any:
    """Return a result's value: structured content, else its parts.

    One part stands alone, several are a list; a text is a string, an image or sound its bytes.

    Raises:
        ToolRuntimeException: The tool reports an error.
    """
    parts = [_part(content) for content in result.get("content") or ()]
    if result.get("isError"):
        text = "\n".join(str(part) for part in parts)
        raise ToolRuntimeException(text or f"{tool} failed without a message")
    structured = result.get("structuredContent")
    if structured is not None:
        return _unwrapped(structured)
    if not parts:
        return None
    if len(parts) == 1:
        return parts[0]
    return parts


def _unwrapped(structured: Any) -> Any:
    """Return structured content without the `result` around plain values."""
    if isinstance(structured, dict) and [*structured] == ["result"]:
        return structured["result"]
    return structured


def _part(content: Mapping[str, Any]) -> Any:
    match content:
        case {"type": "text", "text": text}:
            return text
        case {"type": "image" | "audio", "data": data}:
            return base64.b64decode(data)
        case {"type": "resource", "resource": {"text": text}}:
            return text
        case {"type": "resource", "resource": {"blob": data}}:
            return base64.b64decode(data)
    return dict(content)


def _signature(schema: Mapping[str, Any]) -> inspect.Signature:
    """Return the parameters of a schema, required ones first."""
    properties: Mapping[str, Any] = schema.get("properties") or {}
    required = set(schema.get("required") or ())
    needed = []
    optional = []
    has_others = bool(schema.get("additionalProperties"))
    for name, declared in properties.items():
        if not _is_parameter(name):
            has_others = True
        elif name in required:
            needed.append(_parameter(name, declared, inspect.Parameter.empty))
        else:
            optional.append(_parameter(name, declared, declared.get("default")))
    parameters = [*needed, *optional]
    if has_others:
        parameters.append(inspect.Parameter(OTHERS, inspect.Parameter.VAR_KEYWORD))
    return inspect.Signature(parameters)


def _is_parameter(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name) and name != OTHERS


def _parameter(name: str, declared: Mapping[str, Any], default: Any) -> inspect.Parameter:
    kind = declared.get("type")
    annotation = _TYPES.get(kind, inspect.Parameter.empty) if isinstance(kind, str) else inspect.Parameter.empty
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=annotation)


def _documentation(tool: ListedTool) -> str:
    lines = [tool.description.strip()]
    for name, declared in (tool.schema.get("properties") or {}).items():
        choices = [json.dumps(choice) for choice in declared.get("enum") or ()]
        about = declared.get("description") or ""
        if choices:
            about = f"{about} One of {', '.join(choices)}.".strip()
        if about or not _is_parameter(name):
            lines.append(f"{name}: {about}".rstrip(": "))
    return "\n".join(lines).strip()


def _as_json(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return arguments as plain JSON; arrays and their numbers become lists and numbers."""
    try:
        return json.loads(json.dumps(arguments, default=_plain))
    except (TypeError, ValueError) as error:
        raise ToolInvocationException(f"{tool}: the arguments are not JSON: {error}") from error


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is not JSON")
