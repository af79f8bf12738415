"""Messages in the parts of the Gemini API's contents."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_FIELDS = {
    "functionCall": "function_call",
    "functionResponse": "function_response",
    "executableCode": "executable_code",
    "codeExecutionResult": "code_execution_result",
    "text": "text",
}
"""What a part holds: its name in REST, and in Python."""
_SUCCESS = "OUTCOME_OK"


def has_parts(content: Any) -> bool:
    """Tell whether an object is a content: its parts have a field for each kind."""
    parts = content.get("parts") if isinstance(content, Mapping) else None
    if not isinstance(parts, list):
        return False
    return any(isinstance(part, Mapping) and "type" not in part and bool(_held(part)) for part in parts)


def messages_of_contents(contents: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield a message per part, as code and outcomes take turns within a reply."""
    for content in contents:
        role = "assistant" if content.get("role") == "model" else "user"
        for part in content.get("parts") or ():
            if not part.get("thought"):
                yield from _messages_of(_held(part), role)


def _held(part: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a part holds, by the name in REST."""
    named = {name: part.get(name, part.get(python_name)) for name, python_name in _FIELDS.items()}
    return {name: value for name, value in named.items() if value}


def _messages_of(held: Mapping[str, Any], role: str) -> Iterator[dict[str, Any]]:
    match held:
        case {"functionCall": call}:
            yield {"role": "assistant", "content": "", "tool_calls": [call]}
        case {"executableCode": code}:
            language = str(code.get("language") or "python").lower()
            call = {"name": "code_execution", "args": {"code": code.get("code"), "language": language}}
            yield {"role": "assistant", "content": "", "tool_calls": [call]}
        case {"functionResponse": answer}:
            yield {"role": "tool", "tool_call_id": answer.get("id"), "content": answer.get("response")}
        case {"codeExecutionResult": outcome}:
            is_error = outcome.get("outcome") != _SUCCESS
            yield {"role": "tool", "content": {"output": outcome.get("output") or "", "is_error": is_error}}
        case {"text": text}:
            yield {"role": role, "content": text}
