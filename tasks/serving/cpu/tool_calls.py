"""Tool calls in reply text, in Qwen's and Hermes' form."""

from __future__ import annotations

import json
import re
import uuid
from typing import Any, NamedTuple

_CALL = re.compile(r"<tool_call>\s*(.*?)\s*(?:</tool_call>|\Z)", re.DOTALL)


class ReadReply(NamedTuple):
    """A reply's text apart from its calls."""

    content: str | None
    """None where calls are all that it holds, as OpenAI's API has it."""
    tool_calls: list[dict[str, Any]]
    """As OpenAI's API lists them."""


def read_tool_calls(text: str) -> ReadReply:
    """Return a reply's calls; malformed ones stay text."""
    calls = []

    def take(found: re.Match[str]) -> str:
        call = _read_call(found[1])
        if call is None:
            return found[0]
        calls.append(call)
        return ""

    rest = _CALL.sub(take, text)
    if not calls:
        return ReadReply(text, [])
    return ReadReply(rest.strip() or None, calls)


def _read_call(text: str) -> dict[str, Any] | None:
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict) or not isinstance(said.get("name"), str):
        return None
    arguments = said.get("arguments", {})
    if not isinstance(arguments, dict):
        return None
    function = {"name": said["name"], "arguments": json.dumps(arguments, ensure_ascii=False)}
    return {"id": f"call_{uuid.uuid4().hex[:24]}", "type": "function", "function": function}
