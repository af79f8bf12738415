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


class Row(NamedTuple):
    """The new tokens of one conversation; its cache holds all that came before."""

    cache: KeyValueCache
    token_ids: Sequence[int]


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
    """(new tokens, tokens), true where a new token may look; none for a single new token, which sees all."""


def register_ragged_attention() -> None:
    """Make the attention function known to transformers; harmless when done twice."""
    from transformers import AttentionInterface

    AttentionInterface.register(ATTENTION_NAME, _attend)


def forward_rows(model: PreTrainedModel, rows: Sequence[Row]) -> Tensor:
    """Append every row's tokens to its cache and return the logits after its last one: (rows, vocabulary), float32."""
    import torch

    ids = [token_id for row in rows for token_id in row.token_ids]
    positions = [len(row.cache.token_ids) + offset for row in rows for offset in range(len(row.token_ids))]
    lengths = torch.tensor([len(row.token_ids) for row in rows])
    views = [_view(row) for row in rows]
    output = model(
        input_ids=torch.tensor([ids]),
        position_ids=torch.tensor([positions]),
        use_cache=False,
        logits_to_keep=lengths.cumsum(0) - 1,
        ragged_rows=views,
    )
    for row in rows:
        row.cache.token_ids.extend(row.token_ids)
    return output.logits[0].float()


def _view(row: Row) -> _RowViews:
    import torch

    held, added, heads = len(row.cache.token_ids), len(row.token_ids), row.cache.shape.head_count
    row.cache.reserve(held + added)
    tensor = row.cache.tensor.narrow(2, 0, held + added)
    return _RowViews(
        token_count=added,
        slots=tensor.narrow(2, held, added).unbind(0),
        keys=tensor.narrow(1, 0, heads).unbind(0),
        values=tensor.narrow(1, heads, heads).unbind(0),
        mask=None if added == 1 else torch.ones(added, held + added, dtype=torch.bool).tril(held),
    )


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
        outputs.append(_attend_row(row_query, row.keys[layer], row.values[layer], row.mask))
    return torch.cat(outputs).unsqueeze(0), None


def _attend_row(query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
    """Return (new tokens, heads, dimension) for a scaled query (heads, new tokens, dimension)."""
    import torch

    heads, added, dimension = query.shape
    if mask is None:
        # Query heads that share a key-value head are rows of one product, so shared keys are read once.
        grouped = query.reshape(keys.shape[0], -1, dimension)
        weights = torch.bmm(grouped, keys.transpose(1, 2)).softmax(-1)
        return torch.bmm(weights, values).view(added, heads, dimension)
    attended = torch.nn.functional.scaled_dot_product_attention(
        query[None], keys[None], values[None], attn_mask=mask, scale=1.0, enable_gqa=heads != keys.shape[0]
    )
    return attended[0].transpose(0, 1)
