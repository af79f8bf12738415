"""Score, ending, tokens and texts of an Inspect sample."""

from collections.abc import Mapping, Sequence
from typing import Any

_ATTACHMENT = "attachment://"
_LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
"""Inspect's own values of correct, partial, incorrect and no answer."""
_REFUSALS = ("parsing", "approval")
_REFUSED = "refused call"
_LIMITS = {"message": "max_turns", "turn": "max_turns", "token": "max_tokens", "time": "timeout", "working": "timeout"}


def with_attachments(value: Any, attachments: Mapping[str, str]) -> Any:
    """Return messages with the texts that the log keeps apart."""
    if isinstance(value, str) and value.startswith(_ATTACHMENT):
        return attachments.get(value.removeprefix(_ATTACHMENT), value)
    if isinstance(value, list):
        return [with_attachments(each, attachments) for each in value]
    if isinstance(value, Mapping):
        return {key: with_attachments(each, attachments) for key, each in value.items()}
    return value


def without_refused(messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return messages in which a call that never ran holds no code.

    Inspect refuses a call whose arguments do not fit, or that a person does not approve.
    """
    refused = {message.get("tool_call_id") for message in messages if _is_refusal(message)}
    return [_with_refused(message, refused) for message in messages]


def _is_refusal(message: Mapping[str, Any]) -> bool:
    return (message.get("error") or {}).get("type") in _REFUSALS


def _with_refused(message: Mapping[str, Any], refused: set[Any]) -> Mapping[str, Any]:
    calls = message.get("tool_calls") or ()
    if not any(call["id"] in refused for call in calls):
        return message
    kept = [{"id": call["id"], "function": _REFUSED} if call["id"] in refused else call for call in calls]
    return {**message, "tool_calls": kept}


def score_of(scores: Mapping[str, Any]) -> float | None:
    """Return the first score: a number, or Inspect's letter."""
    for score in scores.values():
        value = score.get("value") if isinstance(score, Mapping) else score
        if isinstance(value, int | float):
            return float(value)
        if isinstance(value, str) and value in _LETTERS:
            return _LETTERS[value]
    return None


def ending_of(sample: Mapping[str, Any]) -> str | None:
    """Return why a sample ended, where the log says so."""
    limit = str((sample.get("limit") or {}).get("type") or "")
    if sample.get("error"):
        return "error"
    return _LIMITS.get(limit, limit) or None


def tokens_of(sample: Mapping[str, Any], kind: str) -> int | None:
    """Return a sample's tokens over all models; null where nobody counted them."""
    usage = sample.get("model_usage")
    if usage:
        return sum(each.get(kind) or 0 for each in usage.values())
    return None
