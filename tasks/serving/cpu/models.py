"""Loading of bases, adapters and checkpoints as models that the CPU server can batch."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from carryover.tasks.serving.cpu.any_model import ATTENTION_NAME, module_forward, register_ragged_attention
from carryover.tasks.serving.cpu.cache import CacheShape
from carryover.tasks.serving.cpu.qwen3 import Qwen3Forward
from carryover.tasks.serving.cpu.ragged import Forward
from carryover.tasks.sft.hub import first_line

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from carryover.tasks.serving.spec import ServedModels


class ModelLoadError(Exception):
    """A model or adapter cannot be served as it is."""


@dataclass(frozen=True)
class LoadedModel:
    """A model under its served name, with the tokenizer that renders its prompts."""

    name: str
    forward: Forward
    tokenizer: PreTrainedTokenizerBase
    end_ids: frozenset[int]
    """Tokens that end a reply."""
    cache_shape: CacheShape
    max_positions: int
    """Positions that the model was made for."""


def load_models(models: ServedModels, *, template_path: Path | None = None) -> list[LoadedModel]:
    """Load every model, an adapter as a merged copy of the base.

    Args:
        models: Base, adapters and checkpoints.
        template_path: Chat template of the adapters; the base keeps its own where it brings one.

    Raises:
        ModelLoadError: A model or adapter cannot be served.
    """
    from transformers.utils import logging

    logging.disable_progress_bar()
    template = None if template_path is None else template_path.read_text(encoding="utf-8")
    load_base = partial(_load, source=models.base, revision=models.base_revision)
    loaded = [load_base(models.base_name, spare_template=template)]
    loaded += [load_base(name, adapter=path, template=template) for name, path in models.adapters.items()]
    loaded += [_load(name, str(path)) for name, path in models.checkpoints.items()]
    return loaded


def _load(
    name: str,
    source: str,
    adapter: Path | None = None,
    *,
    revision: str | None = None,
    template: str | None = None,
    spare_template: str | None = None,
) -> LoadedModel:
    import torch
    from safetensors import SafetensorError
    from transformers import AutoModelForCausalLM, AutoTokenizer

    if Path(source).is_absolute() and not Path(source).is_dir():
        raise ModelLoadError(
            f"model {name!r}: {source} is no directory; give the one that training saved, or a hub name"
        )
    print(f"loading {name} from {adapter or source}", flush=True)
    register_ragged_attention()
    try:
        tokenizer = AutoTokenizer.from_pretrained(source, revision=revision)
        model = AutoModelForCausalLM.from_pretrained(
            source, revision=revision, dtype=torch.float32, attn_implementation=ATTENTION_NAME
        )
    except (OSError, ValueError, SafetensorError) as error:
        raise ModelLoadError(f"model {name!r} cannot be loaded from {source}: {first_line(error)}") from error
    if adapter is not None:
        model = _merge_adapter(name, model, adapter)
    model.eval().requires_grad_(False)
    tokenizer.chat_template = template or tokenizer.chat_template or spare_template
    if tokenizer.chat_template is None:
        raise ModelLoadError(f"tokenizer of model {name!r} at {source} has no chat template")
    return LoadedModel(
        name=name,
        forward=Qwen3Forward(model) if Qwen3Forward.fits(model) else module_forward(model),
        tokenizer=tokenizer,
        end_ids=_end_ids(model, tokenizer),
        cache_shape=_cache_shape(name, model.config),
        max_positions=model.config.max_position_embeddings,
    )


def _merge_adapter(name: str, model: PreTrainedModel, adapter: Path) -> PreTrainedModel:
    from peft import PeftModel
    from safetensors import SafetensorError

    settings = adapter / "adapter_config.json"
    if not settings.is_file():
        raise ModelLoadError(f"adapter {name!r}: {settings} does not exist; give the directory that training saved")
    try:
        trained_on = json.loads(settings.read_text(encoding="utf-8"))["peft_type"]
    except (ValueError, KeyError, TypeError) as error:
        raise ModelLoadError(
            f"adapter {name!r}: {settings} is torn or no adapter's ({type(error).__name__}: {first_line(error)}); "
            "train or copy the adapter again"
        ) from error
    if trained_on != "LORA":
        raise ModelLoadError(f"adapter {name!r} is of type {trained_on}; only LORA adapters can be merged")
    try:
        return PeftModel.from_pretrained(model, adapter).merge_and_unload()  # pyright: ignore[reportReturnType]
    except SafetensorError as error:
        raise ModelLoadError(
            f"adapter {name!r}: the weights in {adapter} are torn ({first_line(error)}); train or copy it again"
        ) from error
    except (RuntimeError, ValueError, TypeError) as error:
        raise ModelLoadError(
            f"adapter {name!r} at {adapter} does not fit the base model: {first_line(error)}"
        ) from error


def _end_ids(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> frozenset[int]:
    ends: list[Any] = [tokenizer.eos_token_id]
    if model.generation_config is not None:
        configured = model.generation_config.eos_token_id
        ends += configured if isinstance(configured, list) else [configured]
    return frozenset(end for end in ends if end is not None)


def _cache_shape(name: str, config: Any) -> CacheShape:
    layer_types = set(getattr(config, "layer_types", None) or ["full_attention"])
    if layer_types != {"full_attention"} or getattr(config, "sliding_window", None):
        kinds = ", ".join(sorted(layer_types))
        raise ModelLoadError(
            f"model {name!r} ({config.model_type}) has layers of kind {kinds} with sliding window "
            f"{getattr(config, 'sliding_window', None)}; the CPU server serves full attention only"
        )
    heads = config.num_attention_heads
    return CacheShape(
        layer_count=config.num_hidden_layers,
        head_count=getattr(config, "num_key_value_heads", None) or heads,
        head_dim=getattr(config, "head_dim", None) or config.hidden_size // heads,
    )
