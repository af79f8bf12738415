"""Message histories of Pydantic AI: requests and responses in parts."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from carryover.tasks.readers.described import chat_trace
from carryover.tasks.readers.reader import Record, shared_name
from carryover.tasks.readers.trace import Trace

LAYOUT = "messages of Pydantic AI"
JOINS_RECORDS = True
_ROLES = {"system-prompt": "system", "user-prompt": "user"}


def detect(record: Any) -> bool:
    """Tell whether a record is a request or a response of parts."""
    if not isinstance(record, Mapping) or record.get("kind") not in ("request", "response"):
        return False
    parts = record.get("parts")
    return isinstance(parts, list) and all(isinstance(part, Mapping) and "part_kind" in part for part in parts)


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Yield the one trace that the messages are."""
    contents = [record.content for record in records]
    model = next((content["model_name"] for content in contents if content.get("model_name")), None)
    messages = [message for content in contents for message in _messages(content)]
    yield chat_trace({}, messages, shared_name(records), model_name=model)


def _messages(content: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a response as one message, and each prompt and result as another."""
    parts = content["parts"]
    if content["kind"] == "response":
        texts = [part["content"] for part in parts if part["part_kind"] == "text"]
        calls = [_call(part) for part in parts if part["part_kind"].endswith("tool-call")]
        yield {"role": "assistant", "content": "\n".join(texts), "tool_calls": calls, "usage": content.get("usage")}
    for part in parts:
        if part["part_kind"] in _ROLES:
            yield {"role": _ROLES[part["part_kind"]], "content": part["content"]}
        elif part["part_kind"].endswith("tool-return"):
            yield _result(part, is_error=part.get("outcome") == "failed")
        elif part["part_kind"] == "retry-prompt":
            yield _result(part, is_error=True)


def _call(part: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": part.get("tool_call_id"), "name": part["tool_name"], "arguments": part.get("args")}


def _result(part: Mapping[str, Any], *, is_error: bool) -> dict[str, Any]:
    content = part["content"]
    if is_error:
        content = {"output": str(content), "is_error": True}
    return {"role": "tool", "tool_call_id": part.get("tool_call_id"), "content": content}
