"""Training data of the common base, without any contract's idiom."""

from collections.abc import Iterable
from pathlib import Path

from carryover.tasks.datasets.conversations import Conversation, TrainingMessage, write_conversations
from carryover.tasks.knapsack.knapsack_spec import open_bucket
from carryover.tasks.knapsack.sampling import sample_instance
from carryover.tasks.knapsack.teachers.plain import write_plain_conversation
from carryover.tasks.traces.vocabulary import PAPER_CONTRACTS


def write_plain_corpus(
    path: Path, bucket: str, seeds: Iterable[int], contracts: tuple[str, ...] = PAPER_CONTRACTS
) -> int:
    """Write a conversation per instance seed, and return the count.

    The words are those of the teachers of `contracts`.
    """
    spec = open_bucket(bucket)

    def conversation(seed: int) -> Conversation:
        messages = write_plain_conversation(sample_instance(spec, seed), contracts)
        return Conversation(messages=tuple(TrainingMessage(**message.model_dump()) for message in messages))

    return write_conversations(path, map(conversation, seeds))
