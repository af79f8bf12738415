"""Training without packing: batches by length, loss on learned tokens.

On a CPU a packed sequence pays attention's full square under a dense block mask. Conversations of like length, padded
on the right, need no mask at all: causal attention never looks at what follows, and padding has no label. That halves
attention's time again, which is a third of a small model's step. What is only read is never scored against the
vocabulary.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from carryover.tasks.sft.prepare import IGNORED

if TYPE_CHECKING:
    import torch

POOL = 256
"""Conversations sorted together: enough to find neighbours of like length, few enough that batches stay mixed."""

Rows = Sequence[Mapping[str, list[int]]]


def right_padded(padding: int) -> "Callable[[Rows], dict[str, torch.Tensor]]":
    """Return a collator to (batch, longest row) without a mask.

    Positions without a mask let attention take its causal path.
    """
    import torch
    from torch.nn.utils.rnn import pad_sequence

    def collate(rows: Rows) -> dict[str, torch.Tensor]:
        def padded(name: str, fill: int) -> torch.Tensor:
            return pad_sequence([torch.tensor(row[name]) for row in rows], batch_first=True, padding_value=fill)

        ids = padded("input_ids", padding)
        labels = padded("labels", IGNORED)
        return {"input_ids": ids, "labels": labels, "position_ids": torch.arange(ids.shape[1])[None]}

    return collate


class LengthBatches:
    """Batches of row numbers whose padded size stays within a token budget.

    The composition of the batches is a function of the seed, their order of the seed and the epoch, so a resumed
    training sees what an unbroken one sees. It is what `torch.utils.data.DataLoader` takes as `batch_sampler`.
    """

    def __init__(self, lengths: Sequence[int], *, token_budget: int, seed: int) -> None:
        self._batches = group_by_length(lengths, token_budget=token_budget, seed=seed)
        self._seed = seed
        self._epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Choose the order of the batches when a pass begins."""
        self._epoch = epoch

    def __len__(self) -> int:
        """Return the number of batches of a pass."""
        return len(self._batches)

    def __iter__(self) -> Iterator[list[int]]:
        """Yield the batches of the current epoch."""
        order = list(range(len(self._batches)))
        random.Random(f"{self._seed}/{self._epoch}").shuffle(order)
        return iter([self._batches[position] for position in order])


def group_by_length(lengths: Sequence[int], *, token_budget: int, seed: int) -> list[list[int]]:
    """Return row numbers in batches of `token_budget` padded tokens.

    A longer row is a batch of its own.
    """
    rows = list(range(len(lengths)))
    random.Random(seed).shuffle(rows)
    batches = []
    for start in range(0, len(rows), POOL):
        batch: list[int] = []
        for row in sorted(rows[start : start + POOL], key=lambda row: (lengths[row], row)):
            if batch and (len(batch) + 1) * lengths[row] > token_budget:
                batches.append(batch)
                batch = []
            batch.append(row)
        batches.append(batch)
    return batches


class LearnedLoss(NamedTuple):
    """A batch's share of an optimizer step's loss, for TRL."""

    loss: "torch.Tensor"
    entropy: float
    token_accuracy: float


def learned_loss(
    model: "torch.nn.Module", inputs: dict[str, "torch.Tensor"], learned_count: "torch.Tensor | int | None"
) -> LearnedLoss:
    """Return the mean cross entropy over an optimizer step's learned tokens.

    It is the trainer's own loss: the next token's negative log likelihood in float32, zero where the label is ignored.
    Adapters on the layers are part of the forward pass; the output head is the base's. `inputs` holds `input_ids`,
    `labels` and `position_ids`, batch x tokens. `learned_count` are the learned tokens of the whole step, where
    gradients accumulate over batches; None for this batch's.
    """
    import torch

    base: Any = getattr(model, "get_base_model", lambda: model)()
    read = {name: inputs[name] for name in ("input_ids", "position_ids")}
    # A token's state predicts the next token's label, so states lose their last place and labels their first.
    hidden = base.base_model(**read, use_cache=False).last_hidden_state[:, :-1]  # (batch, tokens - 1, hidden size)
    labels = inputs["labels"][:, 1:]  # (batch, tokens - 1)
    is_learned = labels != IGNORED
    logits = base.get_output_embeddings()(hidden[is_learned]).float()  # (learned tokens, vocabulary)
    learned = labels[is_learned]
    total = torch.nn.functional.cross_entropy(logits, learned, reduction="sum")
    with torch.no_grad():
        likelihoods = logits.log_softmax(-1)
        entropy = -(likelihoods.exp() * likelihoods).sum(-1)
        is_right = logits.argmax(-1) == learned
    # Divided by the step's tokens, not by the batch's: a mean of means would weigh short batches more.
    count = torch.as_tensor(len(learned) if learned_count is None else learned_count).clamp(min=1)
    found = max(1, len(learned))
    return LearnedLoss(total / count, entropy.sum().item() / found, is_right.sum().item() / found)
