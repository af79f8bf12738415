"""Attention over many short rows in one product, for a GPU.

Launching a kernel there costs more than a short row's arithmetic. For a pass, the caches of its short rows are copied
side by side, padded to the longest, and every layer attends them together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from torch import Tensor

    from carryover.tasks.serving.cpu.cache import KeyValueCache

COPIED_BYTES = 6 * 1024**3
"""Most bytes of caches side by side; rows beyond are attended one by one."""


class ShortRow(NamedTuple):
    """A row of a pass whose new tokens are few."""

    cache: KeyValueCache
    start: int
    """Place of its first new token in the pass."""
    token_count: int
    """New tokens."""

    @property
    def total(self) -> int:
        """Tokens with the new ones."""
        return len(self.cache.token_ids) + self.token_count

    @property
    def token_bytes(self) -> int:
        """Bytes of a token's keys and values."""
        layers, doubled, _, dimension = self.cache.tensor.shape
        return layers * doubled * dimension * self.cache.tensor.element_size()


@dataclass
class PaddedRows:
    """Caches of rows side by side."""

    rows: Sequence[ShortRow]
    copied: Tensor
    """Keys, then values: (layers, rows, 2 x heads, longest row's tokens, head dimension)."""
    places: Tensor
    """Places of the new tokens in the pass: (new tokens)."""
    row_numbers: Tensor
    """The row of each new token: (new tokens)."""
    offsets: Tensor
    """Its place among the row's new tokens: (new tokens)."""
    positions: Tensor
    """Its place in its conversation: (new tokens)."""
    is_hidden: Tensor
    """Whether a new token does not see a place: (rows, most new tokens, longest row's tokens)."""

    def attend(self, layer: int, query: Tensor, added: Tensor) -> Tensor:
        """Take a layer's new keys and values; return its attention.

        Shapes are those of `ragged.attend`, for the new tokens of these rows.
        """
        copied = self.copied[layer]  # (rows, 2 x heads, tokens, dimension)
        copied[self.row_numbers, :, self.positions] = added.transpose(0, 1)
        count, doubled, total, dimension = copied.shape
        groups = doubled // 2
        heads = len(query)
        most = self.is_hidden.shape[1]
        padded = query.new_zeros(count, heads, most, dimension)
        padded[self.row_numbers, :, self.offsets] = query.transpose(0, 1)
        # Query heads that share a key-value head are rows of one product, so shared keys are read once.
        shared = padded.view(count, groups, -1, dimension)
        scores = shared @ copied[:, :groups].transpose(2, 3)  # (rows, groups, queries of a group, tokens)
        scores.view(count, heads, most, total).masked_fill_(self.is_hidden[:, None], float("-inf"))
        attended = (scores.softmax(-1) @ copied[:, groups:]).view(count, heads, most, dimension)
        return attended[self.row_numbers, :, self.offsets].transpose(0, 1)

    def store(self) -> None:
        """Copy the new keys and values into the rows' caches."""
        for number, row in enumerate(self.rows):
            new = slice(row.total - row.token_count, row.total)
            row.cache.tensor[:, :, new] = self.copied[:, number, :, new]


def rows_side_by_side(rows: Iterable[ShortRow]) -> list[ShortRow]:
    """Return the shortest rows, ascending, as many as `COPIED_BYTES` hold."""
    chosen: list[ShortRow] = []
    for row in sorted(rows, key=lambda row: row.total):
        padded_bytes = (len(chosen) + 1) * row.total * row.token_bytes
        if padded_bytes > COPIED_BYTES:
            break
        chosen.append(row)
    return chosen


def pad_rows(rows: Sequence[ShortRow]) -> PaddedRows:
    """Return copies of the rows' caches side by side; the longest row is the last."""
    import torch

    first = rows[0].cache.tensor
    layers, doubled, _, dimension = first.shape
    longest = rows[-1].total
    # Zeros, since a share of 0 times what memory happens to hold need not be 0.
    copied = first.new_zeros(layers, len(rows), doubled, longest, dimension)
    numbers = []
    for number, row in enumerate(rows):
        held = row.total - row.token_count
        copied[:, number, :, :held] = row.cache.tensor[:, :, :held]
        numbers += [(row.start + each, number, each, held + each) for each in range(row.token_count)]
    places, row_numbers, offsets, positions = torch.tensor(numbers, device=first.device).unbind(1)
    held_counts = torch.tensor([row.total - row.token_count for row in rows], device=first.device)
    most = max(row.token_count for row in rows)
    seen = held_counts[:, None] + torch.arange(most, device=first.device)  # last place that each new token sees
    is_hidden = torch.arange(longest, device=first.device) > seen[:, :, None]
    return PaddedRows(rows, copied, places, row_numbers, offsets, positions, is_hidden)
