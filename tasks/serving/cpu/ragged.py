"""One forward pass of a transformers model over rows of any length, each with a cache of its own.

The model's own modules compute everything but attention: the new tokens of all rows are concatenated to one sequence,
so nothing is padded, and an attention function registered with transformers lets each row look at its own cache.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor, nn
    from transformers import PreTrainedModel

    from tasks.serving.cpu.cache import KeyValueCache

ATTENTION_NAME = "ragged"
"""Name under which transformers knows the attention function."""
SHORT_ROW_TOKENS = 64
"""Rows up to here are attended by plain products, which are faster than a fused kernel for few queries."""


class Row(NamedTuple):
    """The new tokens of one conversation; its cache holds all that came before."""

    cache: KeyValueCache
    token_ids: Sequence[int]
    logit_count: int = 1
    """Last tokens whose logits are wanted."""


@dataclass
class _RowViews:
    """A row's part of its cache in this pass, one view per layer."""

    token_count: int
    slots: tuple[Tensor, ...]
    """Where the new keys and values go: (2 x heads, new tokens, head dimension)."""
    keys: tuple[Tensor, ...]
    """(heads, tokens, head dimension), new ones included."""
    values: tuple[Tensor, ...]
    mask: Tensor | None
    """Added to the scores of the new tokens: (new tokens, new tokens) for a short row, else over all tokens."""


def register_ragged_attention() -> None:
    """Make the attention function known to transformers; harmless when done twice."""
    from transformers import AttentionInterface

    AttentionInterface.register(ATTENTION_NAME, _attend)


def forward_rows(model: PreTrainedModel, rows: Sequence[Row]) -> Tensor:
    """Append every row's tokens to its cache and return the logits that rows want: (their sum, vocabulary), float32."""
    import torch

    ids: list[int] = []
    positions: list[int] = []
    wanted: list[int] = []
    for row in rows:
        held, added = len(row.cache.token_ids), len(row.token_ids)
        ids += row.token_ids
        positions += range(held, held + added)
        wanted += range(len(ids) - row.logit_count, len(ids))
    longest = min(max(len(row.token_ids) for row in rows), SHORT_ROW_TOKENS)
    triangle = torch.full((longest, longest), float("-inf")).triu(1)
    output = model(
        input_ids=torch.tensor([ids]),
        position_ids=torch.tensor([positions]),
        use_cache=False,
        logits_to_keep=torch.tensor(wanted),
        ragged_rows=[_view(row, triangle) for row in rows],
    )
    for row in rows:
        row.cache.token_ids.extend(row.token_ids)
    return output.logits[0].float()


def _view(row: Row, triangle: Tensor) -> _RowViews:
    held, added, heads = len(row.cache.token_ids), len(row.token_ids), row.cache.shape.head_count
    row.cache.reserve(held + added)
    tensor = row.cache.tensor.narrow(2, 0, held + added)
    return _RowViews(
        token_count=added,
        slots=tensor.narrow(2, held, added).unbind(0),
        keys=tensor.narrow(1, 0, heads).unbind(0),
        values=tensor.narrow(1, heads, heads).unbind(0),
        mask=_mask(held, added, triangle),
    )


def _mask(held: int, added: int, triangle: Tensor) -> Tensor | None:
    import torch

    if added == 1:
        return None
    if added <= SHORT_ROW_TOKENS:
        return triangle[:added, :added]
    return torch.full((added, held + added), float("-inf")).triu(held + 1)


def _attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    _attention_mask: Tensor | None,
    *,
    scaling: float,
    ragged_rows: Sequence[_RowViews],
    **_: Any,
) -> tuple[Tensor, None]:
    """Attention of one layer: query (1, heads, tokens, dimension) to (1, tokens, heads, dimension)."""
    import torch

    layer: int = module.layer_idx  # pyright: ignore[reportAssignmentType]
    lengths = [row.token_count for row in ragged_rows]
    added = torch.cat((key[0], value[0])).split(lengths, dim=1)
    queries = (query[0] * scaling).split(lengths, dim=1)
    outputs = []
    for row, row_added, row_query in zip(ragged_rows, added, queries, strict=True):
        row.slots[layer].copy_(row_added)
        attend = _attend_short if row.token_count <= SHORT_ROW_TOKENS else _attend_long
        outputs.append(attend(row_query, row.keys[layer], row.values[layer], row.mask))
    return torch.cat(outputs, dim=1).transpose(0, 1).unsqueeze(0), None


def _attend_short(query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
    """Return (heads, new tokens, dimension) for a scaled query of that shape and few new tokens."""
    import torch

    heads, added, dimension = query.shape
    groups, total, _ = keys.shape
    # Query heads that share a key-value head are rows of one product, so shared keys are read once.
    scores = torch.bmm(query.reshape(groups, -1, dimension), keys.transpose(1, 2))
    if mask is not None:
        scores.view(heads, added, total).narrow(2, total - added, added).add_(mask)
    return torch.bmm(scores.softmax(-1), values).view(heads, added, dimension)


def _attend_long(query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
    """Return (heads, new tokens, dimension) for a scaled query of that shape and many new tokens."""
    import torch

    is_start = query.shape[1] == keys.shape[1]
    attended = torch.nn.functional.scaled_dot_product_attention(
        query[None],
        keys[None],
        values[None],
        attn_mask=None if is_start else mask,
        is_causal=is_start,
        scale=1.0,
        enable_gqa=query.shape[0] != keys.shape[0],
    )
    return attended[0]
