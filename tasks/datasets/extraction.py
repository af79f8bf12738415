"""Training text from recorded turns and steps (appendix C.1.2)."""

import json
from collections.abc import Collection
from typing import NamedTuple

import polars as pl
from pydantic import TypeAdapter

from carryover.tasks.agent.protocol import Message
from carryover.tasks.agent.reply import read_reply
from carryover.tasks.datasets.conversations import TrainingMessage, Weight
from carryover.tasks.traces.frames import Frame, lazy
from carryover.tasks.traces.vocabulary import TextFormat

_MESSAGES = TypeAdapter(list[Message])


class Extraction(NamedTuple):
    """A trace as messages, or why it gives none."""

    messages: tuple[TrainingMessage, ...]
    reason: str | None


class RecordedTurn(NamedTuple):
    """A turn with its step, as far as training text needs them.

    Step fields are null where no block ran.
    """

    turn: int
    assistant_text: str
    observation: str | None
    step: int | None
    output: str | None
    error: str | None
    injected_fault: str | None


def extract_conversations(
    turns: Frame, steps: Frame, episode_ids: Collection[str], text_format: TextFormat, fault_weight: Weight = 0
) -> dict[str, Extraction]:
    """Return the training text of episodes by id.

    An episode without turns is absent.

    Rows are of `TurnRow`, whose turn 0 holds the opening messages, and `StepRow`. `paper` joins the system messages and
    has the bare task, and output and error of every step but the last; `exact_wire` has the messages as inference shows
    them, header included. `fault_weight` is the weight of a reply that met an injected fault.
    """
    wanted = pl.LazyFrame({"episode_id": sorted(episode_ids)}, schema={"episode_id": pl.String})
    episodes = (
        lazy(turns)
        .select("episode_id", "turn", "assistant_text", "observation")
        .join(wanted, on="episode_id", how="semi")
        .join(
            lazy(steps).select("episode_id", "turn", "step", "output", "error", "injected_fault"),
            on=["episode_id", "turn"],
            how="left",
        )
        .sort("episode_id", "turn")
        .group_by("episode_id", maintain_order=True)
        .agg(*RecordedTurn._fields)
        .collect()
    )
    build = paper_messages if text_format == "paper" else wire_messages
    extractions = {}
    for episode_id, *columns in episodes.iter_rows():
        messages = build([RecordedTurn(*values) for values in zip(*columns, strict=True)], fault_weight)
        roles = [message.role for message in messages if message.role != "system"]
        reason = "extraction_too_short" if len(messages) < 3 else None
        if roles[:1] != ["user"] or "assistant" not in roles:
            reason = "extraction_without_task_or_steps"
        extractions[episode_id] = Extraction(tuple(messages), reason)
    return extractions


def paper_messages(recorded: list[RecordedTurn], fault_weight: Weight = 0) -> list[TrainingMessage]:
    """Return a trace as the paper does: without headers, wrappers, stepless turns."""
    messages = _paper_opening(recorded)
    executed = [turn for turn in recorded if turn.step is not None]
    for turn in executed:
        if turn.assistant_text.strip():
            messages.append(_reply(turn, turn.assistant_text, fault_weight))
        observation = {"output": turn.output, "error": turn.error or None}
        shown = {name: text for name, text in observation.items() if text is not None}
        if shown and turn is not executed[-1]:
            messages.append(TrainingMessage(role="user", content=json.dumps(shown, ensure_ascii=False)))
    return messages


def _paper_opening(recorded: list[RecordedTurn]) -> list[TrainingMessage]:
    """Return the system messages as one, and the task."""
    opening = _opening(recorded)
    systems = "\n\n".join(message.content for message in opening if message.role == "system")
    tasks = [_task(message.content) for message in opening if message.role == "user"]
    messages = []
    if systems:
        messages.append(TrainingMessage(role="system", content=systems))
    if tasks and tasks[0]:
        messages.append(TrainingMessage(role="user", content=tasks[0]))
    return messages


def wire_messages(recorded: list[RecordedTurn], fault_weight: Weight = 0) -> list[TrainingMessage]:
    """Return a trace as the model sees it at inference.

    A reply that ran nothing is context only.
    """
    messages = [TrainingMessage(role=message.role, content=message.content) for message in _opening(recorded)]
    replies = [turn for turn in recorded if turn.turn > 0]
    for turn in replies:
        messages.append(_reply(turn, read_reply(turn.assistant_text).kept_text, fault_weight))
        if turn.observation is not None and turn is not replies[-1]:
            messages.append(TrainingMessage(role="user", content=turn.observation))
    return messages


def _opening(recorded: list[RecordedTurn]) -> list[Message]:
    first = recorded[0]
    if first.turn == 0 and first.observation:
        return _MESSAGES.validate_json(first.observation)
    return []


def _task(content: str) -> str:
    try:
        wrapper = json.loads(content)
    except ValueError:
        return content
    if isinstance(wrapper, dict) and "task" in wrapper:
        return str(wrapper["task"])
    return content


def _reply(turn: RecordedTurn, text: str, fault_weight: Weight) -> TrainingMessage:
    ran: Weight = 0 if turn.step is None else 1
    return TrainingMessage(role="assistant", content=text, weight=fault_weight if turn.injected_fault else ran)
