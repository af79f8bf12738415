"""Attention over rows of any length, each with its cache.

The new tokens of all rows of a pass are concatenated to one sequence, so nothing is padded; attention alone goes row by
row, and lets each look at its own cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from torch import Tensor

    from carryover.tasks.serving.cpu.cache import KeyValueCache

SHORT_ROW_TOKENS = 64
"""Rows up to here are attended by plain products, which are faster than a fused kernel for few queries."""


class BatchRow(NamedTuple):
    """New tokens of one conversation, whose cache holds the rest."""

    cache: KeyValueCache
    token_ids: Sequence[int]
    logit_count: int = 1
    """Last tokens whose logits are wanted."""


Forward = Callable[[Sequence[BatchRow]], "Tensor"]
"""A model's forward pass: appends every row's tokens to its cache and returns the logits that rows want: (their sum,
vocabulary)."""


@dataclass
class RowViews:
    """A row's part of its cache, one view per layer."""

    token_count: int
    slots: tuple[Tensor, ...]
    """Where the new keys and values go: (2 x heads, new tokens, head dimension)."""
    keys: tuple[Tensor, ...]
    """(heads, head dimension, tokens), new ones included."""
    values: tuple[Tensor, ...]
    """(heads, tokens, head dimension), new ones included."""
    mask: Tensor | None
    """Added to the scores of the new tokens: (new tokens, new tokens) for a short row, else over all tokens."""


class Pass(NamedTuple):
    """The new tokens of all rows as one sequence."""

    token_ids: Tensor
    positions: Tensor
    wanted: Tensor
    """Places in the sequence whose logits rows want."""
    views: list[RowViews]


@contextmanager
def open_pass(rows: Sequence[BatchRow]) -> Iterator[Pass]:
    """Yield the rows' tokens as one sequence, with room in their caches."""
    import torch

    longest = min(max(len(row.token_ids) for row in rows), SHORT_ROW_TOKENS)
    triangle = torch.full((longest, longest), float("-inf")).triu(1)
    ids = []
    positions = []
    wanted = []
    views = []
    for row in rows:
        held = len(row.cache.token_ids)
        added = len(row.token_ids)
        heads = row.cache.shape.head_count
        ids += row.token_ids
        positions += range(held, held + added)
        wanted += range(len(ids) - row.logit_count, len(ids))
        row.cache.reserve(held + added)
        tensor = row.cache.tensor.narrow(2, 0, held + added)  # (layers, 2 x heads, tokens, head size)
        # Every new token sees all that is held, so for a short row a mask over the new tokens alone is enough.
        mask = None
        if added > SHORT_ROW_TOKENS:
            mask = torch.full((added, held + added), float("-inf")).triu(held + 1)
        elif added > 1:
            mask = triangle[:added, :added]
        slots = tensor.narrow(2, held, added).unbind(0)
        keys = tensor.narrow(1, 0, heads).transpose(2, 3).unbind(0)
        views.append(RowViews(added, slots, keys, tensor.narrow(1, heads, heads).unbind(0), mask))
    yield Pass(torch.tensor(ids), torch.tensor(positions), torch.tensor(wanted), views)
    # Only after the pass: one that fails leaves its tokens uncounted, and the next writes over them.
    for row in rows:
        row.cache.token_ids.extend(row.token_ids)


def attend(layer: int, query: Tensor, added: Tensor, rows: Sequence[RowViews]) -> Tensor:
    """Store a layer's new keys and values; return its attention.

    `query` holds the scaled queries of all new tokens, and so does what is returned: (heads, tokens, dimension).
    `added` holds their keys, then values: (2 x key-value heads, tokens, dimension).
    """
    import torch

    lengths = [row.token_count for row in rows]
    heads, _, dimension = query.shape
    outputs = []
    for row, row_added, row_query in zip(rows, added.split(lengths, 1), query.split(lengths, 1), strict=True):
        row.slots[layer].copy_(row_added)
        count = row.token_count
        keys = row.keys[layer]
        values = row.values[layer]
        groups, _, total = keys.shape
        if count <= SHORT_ROW_TOKENS:
            # Query heads that share a key-value head are rows of one product, so shared keys are read once.
            scores = torch.bmm(row_query.reshape(groups, -1, dimension), keys)  # (groups, queries of a group, total)
            if row.mask is not None:
                scores.view(heads, count, total).narrow(2, total - count, count).add_(row.mask)
            outputs.append(torch.bmm(scores.softmax(-1), values).view(heads, count, dimension))
        else:
            attended = torch.nn.functional.scaled_dot_product_attention(
                row_query[None],
                keys.transpose(1, 2)[None],
                values[None],
                attn_mask=None if count == total else row.mask,
                is_causal=count == total,
                scale=1.0,
                enable_gqa=heads != groups,
            )
            outputs.append(attended[0])
    return torch.cat(outputs, dim=1)
