"""The forward pass of any causal transformers model with full attention: its own modules compute all but attention."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from carryover.tasks.serving.cpu.ragged import Forward, Row, RowViews, attend, close_pass, open_pass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor, nn
    from transformers import PreTrainedModel

ATTENTION_NAME = "ragged"
"""Name under which transformers knows the attention function."""


def register_ragged_attention() -> None:
    """Make the attention function known to transformers; harmless when done twice."""
    from transformers import AttentionInterface

    AttentionInterface.register(ATTENTION_NAME, _attend)


def module_forward(model: PreTrainedModel) -> Forward:
    """Return the forward pass of a model that was loaded with the attention function of `ATTENTION_NAME`."""

    def forward(rows: Sequence[Row]) -> Tensor:
        opened = open_pass(rows)
        output = model(
            input_ids=opened.token_ids[None],
            position_ids=opened.positions[None],
            use_cache=False,
            logits_to_keep=opened.wanted,
            ragged_rows=opened.views,
        )
        close_pass(rows)
        return output.logits[0].float()

    return forward


def _attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    _attention_mask: Tensor | None,
    *,
    scaling: float,
    ragged_rows: Sequence[RowViews],
    **_: Any,
) -> tuple[Tensor, None]:
    """Attention of one layer: query (1, heads, tokens, dimension) to (1, tokens, heads, dimension)."""
    import torch

    layer: int = module.layer_idx  # pyright: ignore[reportAssignmentType]
    attended = attend(layer, query[0] * scaling, torch.cat((key[0], value[0])), ragged_rows)
    return attended.transpose(0, 1).unsqueeze(0), None
