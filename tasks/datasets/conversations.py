"""Training data on disk: a conversation per line, weighted messages."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from carryover.tasks.agent.protocol import Message
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.whole_files import written_whole

Weight = Literal[0, 1]
"""Weight of a reply in the loss."""


class TrainingMessage(Message):
    """A chat message with its weight in training."""

    weight: Weight = 1
    """1 for a reply that is imitated, 0 for one that is context only, as in OpenAI's format for fine-tuning."""


class Conversation(BaseModel):
    """One training example.

    Further fields of a line (ids, digests) are the writer's own.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    messages: tuple[TrainingMessage, ...]

    def template_messages(self) -> list[dict[str, Any]]:
        """Return the messages as a chat template takes them.

        `weight` only where it is 0.
        """
        return [
            message.model_dump(include={"role", "content", "weight"}, exclude_defaults=True)
            for message in self.messages
        ]


def write_conversations(path: Path, conversations: Iterable[Conversation]) -> int:
    """Write one JSON line per conversation and return their count.

    Equal conversations give equal bytes.
    """
    count = 0
    with written_whole(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        for conversation in conversations:
            file.write(conversation.model_dump_json() + "\n")
            count += 1
    return count


def read_conversations(path: Path) -> list[Conversation]:
    """Return the conversations of a JSONL file, in order.

    Raise `UserError` if it is missing, empty or malformed.
    """
    try:
        lines = path.read_text(encoding="utf-8").rstrip("\n").split("\n")
    except FileNotFoundError as error:
        raise UserError(f"no training data at {path}; prepare the dataset first") from error
    if lines == [""]:
        raise UserError(f"{path} holds no conversation; relax the validation or collect more traces")
    conversations = []
    for number, line in enumerate(lines, start=1):
        try:
            conversations.append(Conversation.model_validate_json(line))
        except ValidationError as error:
            detail = error.errors()[0]
            raise UserError(
                f"{path} line {number} is not a conversation: {detail['msg']} at {'.'.join(map(str, detail['loc']))}; "
                'each line is {"messages": [{"role", "content", "weight"}]}'
            ) from error
    return conversations
