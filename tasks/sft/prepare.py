"""From conversations to token ids and labels: only what a reply generates is learned."""

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from carryover.tasks.datasets.conversations import Conversation
from carryover.tasks.services.errors import UserError

if TYPE_CHECKING:
    from datasets import Dataset
    from transformers import PreTrainedTokenizerBase

IGNORED = -100
"""Label of a token that is read but not learned."""

TokenizedRow = tuple[list[int], list[int]]
"""Token ids and labels of a conversation."""


class PreparedData(NamedTuple):
    """Tokenized conversations with what they amount to."""

    train: "Dataset"
    """Columns `input_ids` and `labels`, one conversation per row."""
    validation: "Dataset | None"
    token_count: int
    """Tokens of one pass over the training rows."""


def prepare_data(
    conversations: Sequence[Conversation],
    tokenizer: "PreTrainedTokenizerBase",
    *,
    max_length: int,
    validation_share: float,
    seed: int,
) -> PreparedData:
    """Tokenize conversations with the tokenizer's chat template and split off the validation rows by the seed.

    Raise `UserError` where a conversation is longer than `max_length` tokens, none has anything to learn, or the
    template would have replies imitated that are context only.
    """
    from datasets import Dataset

    def has_learned(row: TokenizedRow) -> bool:
        return any(label != IGNORED for label in row[1])

    with_context = next((each for each in conversations if each.has_context_only), Conversation(messages=()))
    unlearned = tuple(message.model_copy(update={"weight": 0}) for message in with_context.messages)
    if unlearned and any(map(has_learned, tokenize([Conversation(messages=unlearned)], tokenizer))):
        raise UserError(
            "the training data have replies of weight 0 and the base's own chat template knows no weights; "
            "set chat_template to 'chatml' or 'qwen3'"
        )
    rows = tokenize(conversations, tokenizer)
    for number, (ids, _) in enumerate(rows, start=1):
        if len(ids) > max_length:
            raise UserError(
                f"conversation {number} has {len(ids):,} tokens, more than batch.max_length {max_length:,}; "
                "truncate the dataset to the training length"
            )
    rows = [row for row in rows if has_learned(row)]
    if not rows:
        raise UserError("no reply in the training data is marked for training; there is nothing to learn")
    random.Random(seed).shuffle(rows)
    held_out = held_out_count(len(rows), validation_share)
    named = [{"input_ids": ids, "labels": labels} for ids, labels in rows]
    return PreparedData(
        train=Dataset.from_list(named[held_out:]),
        validation=Dataset.from_list(named[:held_out]) if held_out else None,
        token_count=sum(len(ids) for ids, _ in rows[held_out:]),
    )


def held_out_count(row_count: int, validation_share: float) -> int:
    """Return how many of the rows are held out for validation."""
    return round(row_count * validation_share)


def tokenize(conversations: Sequence[Conversation], tokenizer: "PreTrainedTokenizerBase") -> list[TokenizedRow]:
    """Return token ids and labels per conversation; a label is the token's id where a trained reply generated it."""
    encoded = tokenizer.apply_chat_template(
        [conversation.template_messages() for conversation in conversations],
        tokenize=True,
        return_dict=True,
        return_assistant_tokens_mask=True,
    )
    return [
        (ids, [token if is_learned else IGNORED for token, is_learned in zip(ids, mask, strict=True)])
        for ids, mask in zip(encoded["input_ids"], encoded["assistant_masks"], strict=True)  # pyright: ignore
    ]
