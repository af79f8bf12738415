"""Messages of open-interpreter (LMC): code and console outputs are messages of their own."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from carryover.tasks.readers.conversation import opening_of
from carryover.tasks.readers.outputs import read_outcome
from carryover.tasks.readers.reader import Record
from carryover.tasks.readers.trace import Block, Reply, Trace

LAYOUT = "messages of open-interpreter"
JOINS_RECORDS = True
_SHELL = ("shell", "bash", "sh", "zsh")
_TYPES = ("message", "code", "console", "image", "file", "confirmation", "review")


def detect(record: Any) -> bool:
    """Tell whether a record is a message with a type, or a conversation of them with code."""
    if not isinstance(record, Mapping):
        return False
    messages = record.get("messages")
    if isinstance(messages, list):
        return any(_is_message(message) and message["type"] == "code" for message in messages)
    return _is_message(record)


def _is_message(record: Any) -> bool:
    if not isinstance(record, Mapping) or "content" not in record:
        return False
    return record.get("type") in _TYPES and record.get("role") in ("user", "assistant", "computer")


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Yield one trace of bare messages, or one per record that holds messages."""
    if "messages" not in records[0].content:
        name = records[0].name.rpartition("-")[0] or records[0].name
        yield _trace([record.content for record in records], name)
        return
    for record in records:
        yield _trace(record.content["messages"], str(record.content.get("id") or record.name))


def _trace(messages: list[Mapping[str, Any]], name: str) -> Trace:
    replies: list[Reply] = []
    for message in messages:
        content = message.get("content")
        if message["role"] == "assistant":
            replies.append(_reply(message, str(content or "")))
        elif _is_output(message) and replies and replies[-1].blocks:
            replies[-1] = _answered(replies[-1], str(content or ""))
    return Trace(trace_id=name, replies=tuple(replies), opening=opening_of(messages))


def _is_output(message: Mapping[str, Any]) -> bool:
    return message["type"] == "console" and message.get("format", "output") == "output"


def _reply(message: Mapping[str, Any], content: str) -> Reply:
    if message["type"] != "code":
        return Reply(content)
    language = str(message.get("format") or "python").lower()
    if language in ("python", "ipython", *_SHELL):
        kind = "shell" if language in _SHELL else "python"
        return Reply(content, (Block(content, language=kind),))
    return Reply(content, unread=(f"a block of {language}",))


def _answered(reply: Reply, printed: str) -> Reply:
    (block,) = reply.blocks
    outcome = read_outcome((block.output or "") + printed)
    answered = block._replace(output=outcome.output, error=outcome.error, result=outcome.result)
    return reply._replace(blocks=(answered,), observation=reply.observation + printed)
