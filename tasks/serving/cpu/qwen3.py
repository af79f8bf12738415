"""The forward pass of a Qwen3 model without transformers' modules.

At laptop size the modules cost more than their arithmetic. Here weights that read the same input are one matrix, and a
norm, a rotation or a residual sum is one operation for all heads and rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from carryover.tasks.serving.cpu.ragged import BatchRow, attend, open_pass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor
    from transformers import PreTrainedModel


class _Layer(NamedTuple):
    """Weights of a decoder layer."""

    attention_norm: Tensor
    attention_input: Tensor
    """Queries, keys and values of all heads."""
    head_norm: Tensor
    """A row per query and key head; those of queries hold the scaling of the scores."""
    attention_output: Tensor
    mlp_norm: Tensor
    mlp_input: Tensor
    """Gate, then what it lets through."""
    mlp_output: Tensor


class Qwen3Forward:
    """Qwen3's forward pass over rows, transformers' but for rounding."""

    def __init__(self, model: PreTrainedModel) -> None:
        """Take over the weights of a model that `fits`.

        Its layers are gone afterwards, so that none is held twice.
        """
        import torch

        config: Any = model.config
        self._query_heads: int = config.num_attention_heads
        self._key_heads: int = config.num_key_value_heads
        self._epsilon = config.rms_norm_eps
        self.embedding = model.model.embed_tokens.weight
        self.head = model.lm_head.weight
        self._layers = list(map(self._take_over, model.model.layers))
        self._norm = model.model.norm.weight
        positions = torch.arange(config.max_position_embeddings, device=self.embedding.device)
        cosine, sine = model.model.rotary_emb(self.embedding, positions[None])
        self._cosine: Tensor = cosine[0, :, None]
        half = sine.shape[-1] // 2
        # Rotated by half a head, the first half counts negative.
        self._sine = torch.cat((-sine[0, :, None, :half], sine[0, :, None, half:]), -1)

    @staticmethod
    def fits(model: PreTrainedModel) -> bool:
        """Tell whether a model is a plain Qwen3.

        No biases, no other activation, no scaled positions.
        """
        config: Any = model.config
        return (
            config.model_type == "qwen3"
            and getattr(config, "quantization_config", None) is None  # else its matrices are packed bytes
            and not config.attention_bias
            and config.hidden_act == "silu"
            and config.rope_parameters["rope_type"] == "default"
        )

    def __call__(self, rows: Sequence[BatchRow]) -> Tensor:
        """Append rows' tokens to their caches; return the wanted logits."""
        import torch
        from torch.nn.functional import embedding, linear, rms_norm, silu

        def normalize(hidden: Tensor, weight: Tensor) -> Tensor:
            return rms_norm(hidden, weight.shape, weight, self._epsilon)

        with open_pass(rows) as opened:
            hidden = embedding(opened.token_ids, self.embedding)  # (tokens of all rows, hidden size)
            cosine = self._cosine[opened.positions]
            sine = self._sine[opened.positions]
            queries = self._query_heads
            keys = self._key_heads
            for index, layer in enumerate(self._layers):
                projected = linear(normalize(hidden, layer.attention_norm), layer.attention_input)
                heads = projected.view(len(hidden), queries + 2 * keys, -1)  # (tokens, heads, head size)
                turning = heads.narrow(1, 0, queries + keys)  # values are neither normed nor rotated
                turning = rms_norm(turning, turning.shape[-1:], eps=self._epsilon) * layer.head_norm
                turning = turning * cosine + turning.roll(turning.shape[-1] // 2, -1) * sine
                added = torch.cat((turning.narrow(1, queries, keys), heads.narrow(1, queries + keys, keys)), 1)
                query = turning.narrow(1, 0, queries).transpose(0, 1)  # (query heads, tokens, head size)
                attended = attend(index, query, added.transpose(0, 1), opened)
                hidden = torch.addmm(hidden, attended.transpose(0, 1).flatten(1), layer.attention_output)
                gate, value = linear(normalize(hidden, layer.mlp_norm), layer.mlp_input).chunk(2, -1)
                hidden = torch.addmm(hidden, silu(gate) * value, layer.mlp_output)
            # The head is the largest matrix, so only tokens whose logits are wanted are multiplied by it.
            return linear(normalize(hidden[opened.wanted], self._norm), self.head)

    def _take_over(self, layer: Any) -> _Layer:
        import torch

        attention = layer.self_attn
        mlp = layer.mlp
        layer.self_attn = layer.mlp = None
        head_norms = (
            attention.q_norm.weight.expand(self._query_heads, -1) * attention.scaling,
            attention.k_norm.weight.expand(self._key_heads, -1),
        )
        return _Layer(
            attention_norm=layer.input_layernorm.weight,
            attention_input=torch.cat((attention.q_proj.weight, attention.k_proj.weight, attention.v_proj.weight)),
            head_norm=torch.cat(head_norms),
            attention_output=attention.o_proj.weight.t(),
            mlp_norm=layer.post_attention_layernorm.weight,
            mlp_input=torch.cat((mlp.gate_proj.weight, mlp.up_proj.weight)),
            mlp_output=mlp.down_proj.weight.t(),
        )
