"""Episodes of the suites with rewards, as a trainer reads them."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from carryover.tasks.agent.protocol import FunctionCall, Message
from carryover.tasks.interchange.chat import conversation
from carryover.tasks.traces.vocabulary import Split

CALLING = "calls"
"""`agent` of an episode that used native function calling."""
_HELD_OUT = 5
"""One case in so many is for evaluation."""


class Recorded(NamedTuple):
    """A reply as recorded, and what followed it."""

    text: str
    observation: str | None


def reward_record(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return an episode of `sql/commands/cave_rewards.sql` as a line of the export."""
    fields = dict(row)
    opening = json.loads(fields.pop("opening"))
    replies = [Recorded(reply["assistant_text"], reply["observation"]) for reply in fields.pop("replies")]
    declared = json.loads(fields.pop("contract_json"))
    is_calling = fields.pop("agent") == CALLING
    messages = conversation(opening, replies)
    if is_calling:
        messages = [*opening, *calling_messages(replies)]
    return {
        **fields,
        "split": split_of(fields["case_id"]),
        "messages": messages,
        "tools": declared["tools"] if is_calling else [],
    }


def split_of(case_id: str) -> Split:
    """Return a case's split, equal in every arm and replicate."""
    number = int(hashlib.sha256(case_id.encode()).hexdigest(), 16)
    return "evaluation" if number % _HELD_OUT == 0 else "train"


def calling_messages(replies: Iterable[Recorded]) -> list[dict[str, Any]]:
    """Return replies with their native calls, and the messages that answer them."""
    messages: list[dict[str, Any]] = []
    for reply in replies:
        followed = _followed(reply.observation)
        answered = [message.tool_call_id for message in followed if message.role == "tool"]
        messages.append(_called(reply.text, answered).wire())
        messages += [message.wire() for message in followed]
    return messages


def _followed(observation: str | None) -> list[Message]:
    """Return the messages after a reply: of tools and the user, as recorded."""
    if observation is None:
        return []
    try:
        return [Message.model_validate(message) for message in json.loads(observation)]
    except (ValueError, TypeError):
        return [Message(role="user", content=observation)]


def _called(recorded: str, answered: list[str | None]) -> Message:
    """Return a reply with its calls.

    They are recorded as pairs of name and arguments in its last line, and `answered` are their ids.
    """
    if not answered:
        return Message(role="assistant", content=recorded)
    text, _, last = recorded.rpartition("\n")
    pairs = zip(answered, json.loads(last), strict=True)
    calls = [FunctionCall(str(call_id), name, arguments) for call_id, (name, arguments) in pairs]
    return Message(role="assistant", content=text, tool_calls=tuple(calls))
