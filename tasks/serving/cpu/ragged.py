"""Attention over rows of any length, each with its cache.

The new tokens of all rows of a pass are concatenated to one sequence, so nothing is padded; attention alone goes row by
row, and lets each look at its own cache. On a GPU, where launching a kernel costs more than a short row's
arithmetic, short rows are attended together (`padded.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate, chain, starmap
from typing import TYPE_CHECKING, NamedTuple

from carryover.tasks.serving.cpu.padded import PaddedRows, ShortRow, pad_rows, rows_side_by_side

if TYPE_CHECKING:
    from torch import Tensor

    from carryover.tasks.serving.cpu.cache import KeyValueCache

SHORT_ROW_TOKENS = 64
"""Rows up to here are attended by plain products, which are faster than a fused kernel for few queries."""
TOGETHER_ON = ("cuda",)
"""Devices on which short rows are attended together."""


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

    start: int
    """Place of its first new token in the pass."""
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
    """Rows that are attended one by one."""
    padded: PaddedRows | None
    """Rows that are attended together, if any."""


@contextmanager
def open_pass(rows: Sequence[BatchRow]) -> Iterator[Pass]:
    """Yield the rows' tokens as one sequence, with room in their caches."""
    import torch

    device = rows[0].cache.tensor.device
    starts = [0, *accumulate(len(row.token_ids) for row in rows[:-1])]
    placed = list(zip(rows, starts, strict=True))
    for row in rows:
        row.cache.reserve(len(row.cache.token_ids) + len(row.token_ids))
    together = _rows_together(placed)
    padded = pad_rows(together) if together else None
    padded_starts = {row.start for row in together}
    alone = [(row, start) for row, start in placed if start not in padded_starts]
    token_ids = list(chain.from_iterable(row.token_ids for row in rows))
    numbers = torch.tensor([token_ids, list(chain.from_iterable(map(_new_positions, rows)))], device=device)
    wanted = torch.tensor(list(chain.from_iterable(starmap(_wanted_places, placed))), device=device)
    yield Pass(numbers[0], numbers[1], wanted, _views(alone), padded)
    if padded is not None:
        padded.store()
    # Only after the pass: one that fails leaves its tokens uncounted, and the next writes over them.
    for row in rows:
        row.cache.token_ids.extend(row.token_ids)


def _new_positions(row: BatchRow) -> range:
    """Return the places of a row's new tokens in its conversation."""
    held = len(row.cache.token_ids)
    return range(held, held + len(row.token_ids))


def _wanted_places(row: BatchRow, start: int) -> range:
    """Return the places in the pass whose logits a row wants."""
    end = start + len(row.token_ids)
    return range(end - row.logit_count, end)


def _rows_together(placed: Sequence[tuple[BatchRow, int]]) -> Sequence[ShortRow]:
    """Return the rows that are attended together, with their places in the pass."""
    short = [(row, start) for row, start in placed if _may_go_together(row)]
    return rows_side_by_side([ShortRow(row.cache, start, len(row.token_ids)) for row, start in short])


def _may_go_together(row: BatchRow) -> bool:
    return row.cache.tensor.device.type in TOGETHER_ON and len(row.token_ids) <= SHORT_ROW_TOKENS


def _views(placed: Sequence[tuple[BatchRow, int]]) -> list[RowViews]:
    """Return the views of rows with their places in the pass."""
    import torch

    if not placed:
        return []
    device = placed[0][0].cache.tensor.device
    longest = min(max(len(row.token_ids) for row, _ in placed), SHORT_ROW_TOKENS)
    triangle = torch.full((longest, longest), float("-inf"), device=device).triu(1)
    views = []
    for row, start in placed:
        held = len(row.cache.token_ids)
        added = len(row.token_ids)
        heads = row.cache.shape.head_count
        tensor = row.cache.tensor.narrow(2, 0, held + added)  # (layers, 2 x heads, tokens, head size)
        # Every new token sees all that is held, so for a short row a mask over the new tokens alone is enough.
        mask = None
        if added > SHORT_ROW_TOKENS:
            mask = torch.full((added, held + added), float("-inf"), device=device).triu(held + 1)
        elif added > 1:
            mask = triangle[:added, :added]
        slots = tensor.narrow(2, held, added).unbind(0)
        keys = tensor.narrow(1, 0, heads).transpose(2, 3).unbind(0)
        views.append(RowViews(start, added, slots, keys, tensor.narrow(1, heads, heads).unbind(0), mask))
    return views


def attend(layer: int, query: Tensor, added: Tensor, opened: Pass) -> Tensor:
    """Store a layer's new keys and values; return its attention.

    `query` holds the scaled queries of all new tokens, and so does what is returned: (heads, tokens, dimension).
    `added` holds their keys, then values: (2 x key-value heads, tokens, dimension).
    """
    import torch

    if opened.padded is None:
        lengths = [row.token_count for row in opened.views]
        parts = zip(opened.views, query.split(lengths, 1), added.split(lengths, 1), strict=True)
        return torch.cat([_attend_row(layer, row_query, row_added, row) for row, row_query, row_added in parts], dim=1)
    attended = torch.empty_like(query)
    for row in opened.views:
        place = slice(row.start, row.start + row.token_count)
        attended[:, place] = _attend_row(layer, query[:, place], added[:, place], row)
    places = opened.padded.places
    attended[:, places] = opened.padded.attend(layer, query[:, places], added[:, places])
    return attended


def _attend_row(layer: int, query: Tensor, added: Tensor, row: RowViews) -> Tensor:
    """Return a row's attention: (heads, new tokens, dimension)."""
    import torch

    row.slots[layer].copy_(added)
    heads, count, dimension = query.shape
    keys = row.keys[layer]
    values = row.values[layer]
    groups, _, total = keys.shape
    if count > SHORT_ROW_TOKENS:
        attended = torch.nn.functional.scaled_dot_product_attention(
            query[None],
            keys.transpose(1, 2)[None],
            values[None],
            attn_mask=None if count == total else row.mask,
            is_causal=count == total,
            scale=1.0,
            enable_gqa=heads != groups,
        )
        return attended[0]
    # Query heads that share a key-value head are rows of one product, so shared keys are read once.
    scores = torch.bmm(query.reshape(groups, -1, dimension), keys)  # (groups, queries of a group, total)
    if row.mask is not None:
        scores.view(heads, count, total).narrow(2, total - count, count).add_(row.mask)
    return torch.bmm(scores.softmax(-1), values).view(heads, count, dimension)
