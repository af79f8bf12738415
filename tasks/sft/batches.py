"""Batches of conversations of like length, for training without packing.

On a CPU a packed sequence pays attention's full square under a dense block mask; padding conversations of like length
together wastes a few percent and keeps the square of each conversation's own length.
"""

import random
from collections.abc import Iterator, Sequence

POOL = 256
"""Conversations sorted together: enough to find neighbours of like length, few enough that batches stay mixed."""


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
        """Choose the order of the batches; the trainer calls this when a pass begins."""
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
    """Return row numbers in batches of at most `token_budget` padded tokens; a longer row is a batch of its own."""
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
