"""Messages in OpenHands' events, named or typed."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Message = dict[str, Any]
_TOOLS = {"run_ipython": "execute_ipython_cell", "run": "execute_bash"}
_BOOKKEEPING = ("agent_state_changed", "null", "recall")


def messages_of_events(events: Sequence[Mapping[str, Any]]) -> list[Message]:
    """Return the messages that events are, oldest first."""
    messages: list[Message] = []
    for event in events:
        messages += _typed(event) if "kind" in event else _named(event)
    return messages


def _named(event: Mapping[str, Any]) -> Iterator[Message]:
    if isinstance(event.get("action"), str):
        yield from _action(event, event.get("args") or {})
    elif event.get("observation") not in (None, *_BOOKKEEPING):
        cause = event.get("cause")
        yield {"role": "tool", "tool_call_id": "" if cause is None else str(cause), "content": _content(event)}


def _content(event: Mapping[str, Any]) -> Any:
    """Return what an observation says, with the exit code of a command."""
    extras = event.get("extras") or {}
    code = (extras.get("metadata") or extras).get("exit_code")
    if code is None:
        return event.get("content")
    return {"content": event.get("content"), "exit_code": code}


def _action(event: Mapping[str, Any], arguments: Mapping[str, Any]) -> Iterator[Message]:
    action = event["action"]
    is_agent = event["source"] == "agent"
    thought = arguments.get("thought") or ""
    if action == "message":
        yield {"role": "assistant" if is_agent else "user", "content": arguments.get("content")}
    elif action in ("finish", "reject"):
        yield {"role": "assistant", "content": arguments.get("final_thought") or thought}
    elif is_agent:
        call = {"name": _TOOLS.get(action, action), "arguments": arguments, "id": str(event.get("id"))}
        yield {"role": "assistant", "content": thought, "tool_calls": [call]}


def _typed(event: Mapping[str, Any]) -> Iterator[Message]:
    match event["kind"]:
        case "MessageEvent":
            held = event.get("llm_message") or {}
            yield {"role": "assistant" if event.get("source") == "agent" else "user", "content": held.get("content")}
        case "ActionEvent":
            call = {"name": event.get("tool_name"), "arguments": event.get("action"), "id": event.get("tool_call_id")}
            yield {"role": "assistant", "content": event.get("thought"), "tool_calls": [call]}
        case "ObservationEvent" | "AgentErrorEvent":
            held = event.get("observation") or {"error": event.get("error")}
            yield {"role": "tool", "tool_call_id": event.get("tool_call_id") or "", "content": held}
