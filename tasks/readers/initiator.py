"""AutoGen's chats as the executing agent keeps them, with its own roles."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

_EXECUTED = re.compile(r"exitcode: -?\d+ \(execution \w+\)")
"""Beginning of what AutoGen's executor reports."""
_SWAPPED = {"assistant": "user", "user": "assistant"}


def as_the_model_sees(messages: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """Return messages with the model as assistant.

    An agent of AutoGen keeps what it sent as `assistant`, and what it got as `user`, so an executor that began the chat
    keeps the model's replies as `user`. Calls of tools are the assistant's either way.
    """
    if not any(map(_is_of_executor, messages)):
        return messages
    return [_swapped(message) for message in messages]


def _is_of_executor(message: Any) -> bool:
    if not isinstance(message, Mapping) or message.get("role") != "assistant":
        return False
    content = message.get("content")
    return isinstance(content, str) and _EXECUTED.match(content) is not None


def _swapped(message: Mapping[str, Any]) -> Mapping[str, Any]:
    role = message.get("role")
    if role not in _SWAPPED or message.get("tool_calls") or message.get("function_call"):
        return message
    return {**message, "role": _SWAPPED[role]}
