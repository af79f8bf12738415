"""Training data of prompt and completion, as TRL documents it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from carryover.tasks.readers.described import chat_trace
from carryover.tasks.readers.reader import Record
from carryover.tasks.readers.trace import Trace

LAYOUT = "prompt and completion"
JOINS_RECORDS = False
_PAIRS = (("prompt", "completion"), ("prompt", "chosen"), ("prompt", "response"), ("instruction", "output"),
          ("question", "answer_text"))  # fmt: skip


def detect(record: Any) -> bool:
    """Tell whether a record has a prompt and what followed it."""
    return isinstance(record, Mapping) and _pair(record) is not None


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Yield one trace per record."""
    for record in records:
        content = record.content
        prompt, completion = _pair(content) or ("", "")
        messages = [*_messages(content[prompt], "user"), *_messages(content[completion], "assistant")]
        yield chat_trace(content, messages, record.name)


def _pair(record: Mapping[str, Any]) -> tuple[str, str] | None:
    for prompt, completion in _PAIRS:
        if isinstance(record.get(prompt), str | list) and isinstance(record.get(completion), str | list):
            return prompt, completion
    return None


def _messages(held: Any, role: str) -> list[Mapping[str, Any]]:
    if isinstance(held, str):
        return [{"role": role, "content": held}]
    return held
