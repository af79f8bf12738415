"""OpenHands: events of actions and observations, the SDK's typed events, and `output.jsonl` of its evaluations."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from carryover.tasks.readers.described import chat_trace
from carryover.tasks.readers.reader import Record
from carryover.tasks.readers.trace import Trace

LAYOUT = "events of OpenHands"
JOINS_RECORDS = True
_TOOLS = {"run_ipython": "execute_ipython_cell", "run": "execute_bash"}
_KINDS = ("MessageEvent", "ActionEvent", "ObservationEvent", "SystemPromptEvent", "AgentErrorEvent")


def detect(record: Any) -> bool:
    """Tell whether a record is an event, or an evaluation's line with a history of them."""
    if not isinstance(record, Mapping):
        return False
    history = record.get("history")
    if isinstance(history, list) and history:
        first = history[0]
        return any(map(_is_event, first if isinstance(first, list) else [first]))
    return _is_event(record)


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Yield one trace of bare events, or one per line with a history."""
    if "history" not in records[0].content:
        name = records[0].name.rpartition("-")[0] or records[0].name
        yield chat_trace({}, [message for record in records for message in _messages(record.content)], name)
        return
    for record in records:
        events = [event for each in record.content["history"] for event in (each if isinstance(each, list) else [each])]
        name = str(record.content.get("instance_id") or record.name)
        yield chat_trace(record.content, [message for event in events for message in _messages(event)], name)


def _is_event(event: Any) -> bool:
    if not isinstance(event, Mapping):
        return False
    return event.get("kind") in _KINDS or ("source" in event and ("action" in event or "observation" in event))


def _messages(event: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    if "kind" in event:
        yield from _typed_messages(event)
        return
    arguments = event.get("args") or {}
    action = event.get("action")
    if action == "message":
        yield {"role": "assistant" if event["source"] == "agent" else "user", "content": arguments.get("content")}
    elif action in ("finish", "reject"):
        yield {"role": "assistant", "content": arguments.get("final_thought") or arguments.get("thought") or ""}
    elif isinstance(action, str) and event["source"] == "agent":
        call = {"name": _TOOLS.get(action, action), "arguments": arguments, "id": str(event.get("id"))}
        yield {"role": "assistant", "content": arguments.get("thought") or "", "tool_calls": [call]}
    elif "observation" in event and event["observation"] not in ("agent_state_changed", "null", "recall"):
        cause = event.get("cause")
        yield {"role": "tool", "tool_call_id": "" if cause is None else str(cause), "content": event.get("content")}


def _typed_messages(event: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    if event["kind"] == "MessageEvent":
        held = event.get("llm_message") or {}
        yield {"role": "assistant" if event.get("source") == "agent" else "user", "content": held.get("content")}
    elif event["kind"] == "ActionEvent":
        call = {"name": event.get("tool_name"), "arguments": event.get("action"), "id": event.get("tool_call_id")}
        yield {"role": "assistant", "content": event.get("thought"), "tool_calls": [call]}
    elif event["kind"] in ("ObservationEvent", "AgentErrorEvent"):
        held = event.get("observation") or {"error": event.get("error")}
        content = held if isinstance(held, str | list) else {"exit_code": held.get("exit_code"), **held}
        yield {"role": "tool", "tool_call_id": event.get("tool_call_id") or "", "content": content}
