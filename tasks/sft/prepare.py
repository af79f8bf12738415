"""Conversations as token ids and labels: only replies are learned."""

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from carryover.tasks.datasets.conversations import Conversation
from carryover.tasks.services.chat_text import WAY_OUT, RenderedReply, render_conversation
from carryover.tasks.services.errors import UserError

if TYPE_CHECKING:
    from datasets import Dataset
    from transformers import BatchEncoding, PreTrainedTokenizerBase

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
    longest: int
    """Tokens of the longest conversation."""


def prepare_data(
    conversations: Sequence[Conversation],
    tokenizer: "PreTrainedTokenizerBase",
    *,
    max_length: int,
    validation_share: float,
    seed: int,
) -> PreparedData:
    """Tokenize conversations and split off validation rows by the seed.

    Raise `UserError` where a conversation is longer than `max_length` tokens, or none has anything to learn.
    """
    from datasets import Dataset

    rows = tokenize(conversations, tokenizer)
    _check_lengths(rows, max_length)
    rows = [(ids, labels) for ids, labels in rows if any(label != IGNORED for label in labels)]
    if not rows:
        raise UserError("no reply in the training data is marked for training; there is nothing to learn")
    random.Random(seed).shuffle(rows)
    held_out = held_out_count(len(rows), validation_share)
    named = [{"input_ids": ids, "labels": labels} for ids, labels in rows]
    return PreparedData(
        train=Dataset.from_list(named[held_out:]),
        validation=Dataset.from_list(named[:held_out]) if held_out else None,
        token_count=sum(len(ids) for ids, _ in rows[held_out:]),
        longest=max(len(ids) for ids, _ in rows),
    )


def _check_lengths(rows: Sequence[TokenizedRow], max_length: int) -> None:
    """Raise `UserError` for a conversation of more than `max_length` tokens."""
    for number, (ids, _) in enumerate(rows, start=1):
        if len(ids) > max_length:
            raise UserError(
                f"conversation {number} has {len(ids):,} tokens, more than batch.max_length {max_length:,}; "
                "truncate the dataset to the training length"
            )


def held_out_count(row_count: int, validation_share: float) -> int:
    """Return how many of the rows are held out for validation."""
    return round(row_count * validation_share)


def tokenize(conversations: Sequence[Conversation], tokenizer: "PreTrainedTokenizerBase") -> list[TokenizedRow]:
    """Return token ids and labels of each conversation.

    Raise `UserError` where a template's prompts are no prefixes of its text, in characters or in tokens.
    """
    rendered = [render_conversation(tokenizer, each.template_messages()) for each in conversations]
    # Each conversation as a whole, as a server reads its prompt: parts by themselves could be split into other tokens.
    encoded = tokenizer([each.text for each in rendered], add_special_tokens=False, return_offsets_mapping=True)
    return [_labelled_row(encoded, row, each.replies) for row, each in enumerate(rendered)]


def _labelled_row(encoded: "BatchEncoding", row: int, replies: Sequence[RenderedReply]) -> TokenizedRow:
    # Ids and labels lie side by side, one per token; the loss shifts labels by one and leaves out `IGNORED`.
    ids: list[int] = encoded["input_ids"][row]  # pyright: ignore[reportAssignmentType]
    labels = [IGNORED] * len(ids)
    for reply in replies:
        first = encoded.char_to_token(row, reply.start)
        last = encoded.char_to_token(row, reply.end - 1)
        # A token over the boundary would be learned, and never be generated: a served prompt ends at the boundary.
        if first is None or last is None or encoded["offset_mapping"][row][first][0] < reply.start:
            raise UserError(f"the tokenizer merges a reply with the prompt before it; {WAY_OUT}")
        if reply.is_learned:
            labels[first : last + 1] = ids[first : last + 1]
    return ids, labels
