"""Trajectories of mini-swe-agent: each action in its own shell."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from carryover.tasks.readers.described import chat_trace
from carryover.tasks.readers.reader import Record
from carryover.tasks.readers.responses_items import messages_of_items
from carryover.tasks.readers.trace import Trace

LAYOUT = "a trajectory of mini-swe-agent"
JOINS_RECORDS = False


def detect(record: Any) -> bool:
    """Tell whether a record declares the format or agent version."""
    if not isinstance(record, Mapping) or not isinstance(record.get("messages"), list):
        return False
    info = record.get("info")
    has_version = isinstance(info, Mapping) and "mini_version" in info
    return has_version or str(record.get("trajectory_format", "")).startswith("mini-swe-agent")


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Yield one trace per file; a reply's one action runs.

    The framework runs none of several.
    """
    for record in records:
        info = record.content.get("info") or {}
        model = ((info.get("config") or {}).get("model") or {}).get("model_name")
        yield chat_trace(
            record.content,
            _messages(record.content["messages"]),
            record.name,
            "single",
            has_fresh_processes=True,
            finish_reason=info.get("exit_status"),
            model_name=model,
        )


def _messages(recorded: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    held = [message for message in recorded if message.get("role") != "exit"]
    if not any("output" in message for message in held):
        return [_plain(message) for message in held]
    outputs = [message["output"] if message.get("object") == "response" else [message] for message in held]
    return messages_of_items(list(chain.from_iterable(outputs)))


def _plain(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a message, with its recorded action as a call."""
    extra = message.get("extra")
    actions = extra.get("actions") if isinstance(extra, Mapping) else None
    if message.get("tool_calls") or message.get("role") != "assistant" or not actions:
        return message
    commands = [action.get("command") if isinstance(action, Mapping) else action for action in actions]
    calls = [{"name": "bash", "arguments": {"command": command}} for command in commands[:1]]
    return {**message, "tool_calls": calls}
