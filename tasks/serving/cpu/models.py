"""Bases, adapters and checkpoints, loaded for our server.

Any causal transformers model with full attention is served: its own modules compute all but attention.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from carryover.tasks.services.errors import UserError, first_line
from carryover.tasks.services.hub import import_bitsandbytes
from carryover.tasks.serving.attention_kinds import partial_attention
from carryover.tasks.serving.cpu.cache import CacheShape
from carryover.tasks.serving.cpu.qwen3 import Qwen3Forward
from carryover.tasks.serving.cpu.ragged import BatchRow, Forward, Pass, attend, open_pass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor, nn
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from carryover.tasks.serving.serving_spec import ServedModels


ATTENTION_NAME = "ragged"
"""Name under which transformers knows the attention function."""


@dataclass(frozen=True)
class LoadedModel:
    """A model under its served name, with its tokenizer."""

    name: str
    forward: Forward
    tokenizer: PreTrainedTokenizerBase
    end_ids: frozenset[int]
    """Tokens that end a reply."""
    cache_shape: CacheShape
    max_positions: int
    """Positions that the model was made for."""


def load_models(models: ServedModels, *, template_path: Path | None = None, device: str = "cpu") -> list[LoadedModel]:
    """Load every model, adapters merged; raise `UserError` for unservable ones.

    `template_path` is the chat template of the adapters; the base keeps its own where it brings one. Weights and caches
    lie on the device.
    """
    from transformers.utils import logging

    logging.disable_progress_bar()
    template = None if template_path is None else template_path.read_text(encoding="utf-8")
    load = partial(_load, device=device)
    load_base = partial(load, source=models.base, revision=models.base_revision, template=template)
    loaded = [load_base(models.base_name)]
    loaded += [load_base(name, adapter=path) for name, path in models.adapters.items()]
    return loaded + [load(name, str(path)) for name, path in models.checkpoints.items()]


def _load(
    name: str,
    source: str,
    adapter: Path | None = None,
    *,
    revision: str | None = None,
    template: str | None = None,
    device: str,
) -> LoadedModel:
    import_bitsandbytes()
    from safetensors import SafetensorError

    if Path(source).is_absolute() and not Path(source).is_dir():
        raise UserError(f"model {name!r}: {source} is not a directory; give the one that training saved, or a hub name")
    print(f"loading {name} from {adapter or source}", flush=True)
    register_ragged_attention()
    try:
        tokenizer, model = _read_weights(source, adapter, revision, device)
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
        raise UserError(
            f"model {name!r} cannot be loaded from {adapter or source} ({type(error).__name__}: {first_line(error)}); "
            "name a whole folder that training saved, an adapter with the base that it was trained on"
        ) from error
    model.eval().requires_grad_(False)
    tokenizer.chat_template = _choose_template(tokenizer.chat_template, template, is_adapter=adapter is not None)
    if tokenizer.chat_template is None:
        raise UserError(
            f"tokenizer of model {name!r} at {source} has no chat template; name a folder that holds one, as "
            "chat_template.jinja"
        )
    return loaded_model(name, model, tokenizer)


def loaded_model(name: str, model: Any, tokenizer: Any) -> LoadedModel:
    """Return what the engine needs of a model that is in memory, frozen."""
    forward: Forward = module_forward(model)
    if Qwen3Forward.fits(model):
        forward = Qwen3Forward(model)
    return LoadedModel(
        name=name,
        forward=forward,
        tokenizer=tokenizer,
        end_ids=_end_ids(tokenizer, model),
        cache_shape=_cache_shape(name, model.config, str(model.device)),
        max_positions=model.config.max_position_embeddings,
    )


def _read_weights(source: str, adapter: Path | None, revision: str | None, device: str) -> tuple[Any, Any]:
    """Return tokenizer and model in float32 on the device, any adapter merged there."""
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(source, revision=revision)
    model: Any = AutoModelForCausalLM.from_pretrained(
        source, revision=revision, dtype=torch.float32, attn_implementation=ATTENTION_NAME
    )
    model = model.to(device)
    if adapter is not None:
        model = PeftModel.from_pretrained(model, adapter).merge_and_unload()
    return tokenizer, model


def _choose_template(own: str | None, given: str | None, *, is_adapter: bool) -> str | None:
    """Return a model's chat template: a base's own, an adapter's given.

    An adapter was trained with the given one.
    """
    if is_adapter:
        return given or own
    return own or given


def _end_ids(tokenizer: Any, model: Any) -> frozenset[Any]:
    """Return the ending tokens of tokenizer and generation settings."""
    configured = model.generation_config and model.generation_config.eos_token_id
    ends = [tokenizer.eos_token_id]
    if isinstance(configured, list):
        ends += configured
    else:
        ends.append(configured)
    return frozenset(end for end in ends if end is not None)


def register_ragged_attention() -> None:
    """Make the attention function known to transformers; harmless when done twice."""
    from transformers import AttentionInterface

    AttentionInterface.register(ATTENTION_NAME, _attend)


def module_forward(model: PreTrainedModel) -> Forward:
    """Return a model's forward pass through the ragged attention.

    The model was loaded with the attention function of `ATTENTION_NAME`.
    """

    def forward(rows: Sequence[BatchRow]) -> Tensor:
        with open_pass(rows) as opened:
            output = model(
                input_ids=opened.token_ids[None],  # (1, tokens of all rows): no padding, rows lie end to end
                position_ids=opened.positions[None],  # (1, tokens), from each row's own start
                use_cache=False,
                logits_to_keep=opened.wanted,
                ragged_pass=opened,
            )
            return output.logits[0].float()  # (wanted tokens of all rows, vocabulary)

    return forward


def _attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    _attention_mask: Tensor | None,
    *,
    scaling: float,
    ragged_pass: Pass,
    **_: Any,
) -> tuple[Tensor, None]:
    """Attention of one layer over ragged rows.

    Query (1, heads, tokens, dimension) to (1, tokens, heads, dimension).
    """
    import torch

    layer: int = module.layer_idx  # pyright: ignore[reportAssignmentType]
    keys_values = torch.cat((key[0], value[0]))  # (2 x key-value heads, tokens, dimension), as a cache holds them
    attended = attend(layer, query[0] * scaling, keys_values, ragged_pass)
    return attended.transpose(0, 1).unsqueeze(0), None


def _cache_shape(name: str, config: Any, device: str) -> CacheShape:
    if layers := partial_attention(config):
        raise UserError(f"model {name!r} ({config.model_type}) has {layers}; our server serves full attention only")
    heads = config.num_attention_heads
    return CacheShape(
        layer_count=config.num_hidden_layers,
        head_count=getattr(config, "num_key_value_heads", None) or heads,
        head_dim=getattr(config, "head_dim", None) or config.hidden_size // heads,
        device=device,
    )
