"""Traces from messages and the record around them."""

from collections.abc import Iterable, Mapping
from typing import Any

from carryover.tasks.readers.conversation import RunRule, opening_of, replies_of
from carryover.tasks.readers.initiator import as_the_model_sees
from carryover.tasks.readers.trace import Trace, known_contract

ID_FIELDS = ("episode_id", "trace_id", "trajectory_id", "conversation_id", "session_id", "id", "task_id", "uuid")
_INSTANCE_FIELDS = ("instance_id", "task_id", "example_id", "problem_id", "question_id")
_CONTRACT_FIELDS = ("shown_contract", "contract", "runtime_contract", "runtime")
_RUNTIME_FIELDS = ("contract", "runtime_contract", "runtime")
_SCORE_FIELDS = ("score", "reward", "is_correct", "resolved", "success")
_FINISH_FIELDS = ("finish_reason", "stop_reason", "exit_status", "stop_condition")
_MODEL_FIELDS = ("model_name", "model", "model_id", "default_model_slug")


def chat_trace(
    record: Mapping[str, Any], messages: Iterable[Mapping[str, Any]], name: str, runs: RunRule = "all", **more: Any
) -> Trace:
    """Return a conversation as a trace, described by `record`.

    `name` identifies it where the record does not, and what `more` says goes before what the record says.
    """
    listed = as_the_model_sees([message for message in messages if message is not None])
    usual: dict[str, Any] = {
        "trace_id": first_text(record, ID_FIELDS) or name,
        "instance_id": first_text(record, _INSTANCE_FIELDS),
        "declared_contract": _first_contract(record, _CONTRACT_FIELDS),
        "runtime_contract": _first_contract(record, _RUNTIME_FIELDS),
        "train_contract": first_text(record, ("train_contract",)),
        "model_name": first_text(record, _MODEL_FIELDS),
        "score": first_number(record, _SCORE_FIELDS),
        "finish_reason": first_text(record, _FINISH_FIELDS),
    }
    said = {field: value for field, value in more.items() if value is not None}
    return Trace(replies=replies_of(listed, runs), opening=opening_of(listed), **(usual | said))


def _first_contract(record: Mapping[str, Any], fields: Iterable[str]) -> str | None:
    declared = [known_contract(record.get(field)) for field in fields]
    return next((contract for contract in declared if contract is not None), None)


def first_text(record: Mapping[str, Any], fields: Iterable[str]) -> str | None:
    """Return the first field with a word or number, as text."""
    for field in fields:
        value = record.get(field)
        if isinstance(value, str | int) and not isinstance(value, bool) and value != "":
            return str(value)
    return None


def first_number(record: Mapping[str, Any], fields: Iterable[str]) -> float | None:
    """Return the first field with a number or a boolean."""
    for field in fields:
        value = record.get(field)
        if isinstance(value, int | float):
            return float(value)
    return None
