"""Training data on disk: one conversation per line, with a mark on every message that is not to be imitated."""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from tasks.agent.protocol import Message
from tasks.running.errors import UserError


class TrainingMessage(Message):
    """A chat message with its weight in training."""

    train: bool = True
    """Whether a reply is imitated; a reply that only shows what led to a fault, or to the next one, is context."""


class Conversation(BaseModel):
    """One training example; further fields of a line (ids, digests) are the writer's own."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    messages: tuple[TrainingMessage, ...]

    def template_messages(self) -> list[dict[str, Any]]:
        """Return the messages as a chat template takes them; `train` only where it is false."""
        return [
            {"role": message.role, "content": message.content} | ({} if message.train else {"train": False})
            for message in self.messages
        ]


def write_conversations(path: Path, conversations: Iterable[Conversation]) -> int:
    """Write one JSON line per conversation and return their count; equal conversations give equal bytes."""
    count = 0
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for conversation in conversations:
            file.write(conversation.model_dump_json() + "\n")
            count += 1
    return count


def read_conversations(path: Path) -> list[Conversation]:
    """Return the conversations of a JSONL file, in order.

    Raises:
        UserError: The file is missing or empty, or a line is not a conversation.
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
                'each line is {"messages": [{"role", "content", "train"}]}'
            ) from error
    return conversations


def digest_of_file(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, as hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
