"""Calls in a model's chat-template tokens, and of ReAct prompts."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from carryover.tasks.readers.source_code import ToolCall

HAS_TOKENS = re.compile(r"<[|｜](?:tool[_▁]call|python_tag)|\[TOOL_CALLS\]|^Action Input:", re.MULTILINE)
"""Text that may hold such a call."""
_BEGUN = re.compile(
    r"<[|｜]tool[_▁]call[_▁]begin[|｜]>\s*+(?:function<｜tool▁sep｜>)?+(?P<name>[\w.:-]++)\s*+"
    r"(?:<｜tool▁sep｜>|<\|tool_call_argument_begin\|>|```json)?+"
    r"(?P<arguments>(?:(?!<[|｜]tool[_▁]call[_▁](?:begin|end)).)*+)<[|｜]tool[_▁]call[_▁]end[|｜]>",
    re.DOTALL,
)
"""DeepSeek's and Kimi's calls."""
_PYTHON_TAG = re.compile(r"<\|python_tag\|>(?P<code>.*?)(?:<\|e(?:om|ot)_id\|>|\Z)", re.DOTALL)
"""Llama's calls of its interpreter."""
_LISTED = re.compile(r"\[TOOL_CALLS\]\s*(?P<calls>\[.*\])", re.DOTALL)
_NAMED = re.compile(
    r"\[TOOL_CALLS\](?P<name>[\w.-]+)(?:\[CALL_ID\]\w+)?\[ARGS\](?P<arguments>\{(?:(?!\[TOOL_CALLS\]).)*?\})(?=\[TOOL_CALLS\]|</s>|\s*\Z)",
    re.DOTALL,
)
"""Mistral's calls."""
_ACTION = re.compile(
    r"^Action:[ \t]*(?P<name>[^\n]+)\n+Action Input:[ \t]*(?P<arguments>.*?)"
    r"(?=^(?:Observation|Thought|Action|Final Answer):|\Z)",
    re.DOTALL | re.MULTILINE,
)
"""Calls of ReAct prompts, as LangChain's."""


def calls_in_tokens(text: str) -> Iterator[ToolCall]:
    """Yield the calls in a text, in order of their forms."""
    if not HAS_TOKENS.search(text):
        return
    for found in _BEGUN.finditer(text):
        arguments = found["arguments"].strip().removesuffix("```")
        yield ToolCall(found["name"], arguments.strip())
    for pattern in (_NAMED, _ACTION):
        for found in pattern.finditer(text):
            yield ToolCall(found["name"].strip(), found["arguments"].strip())
    for found in _LISTED.finditer(text):
        yield from _listed_calls(found["calls"])
    for found in _PYTHON_TAG.finditer(text):
        yield ToolCall("python", found["code"])


def _listed_calls(text: str) -> Iterator[ToolCall]:
    try:
        calls: Any = json.loads(text)
    except (ValueError, RecursionError):
        yield ToolCall("", None)
        return
    for call in calls:
        if isinstance(call, Mapping):
            yield ToolCall(str(call.get("name") or ""), call.get("arguments"))
        else:
            yield ToolCall("", None)
