"""The shape of a Qwen3-architecture model: the numbers that decide its parameters."""

import json
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from carryover.tasks.services.hub import is_local
from carryover.tasks.sft.training_spec import ArchitectureSpec, LoraSpec, TrainingSpec

if TYPE_CHECKING:
    from transformers import Qwen3Config


class ModelShape(NamedTuple):
    """Sizes of a model of Qwen3's architecture, Llama's or Qwen2's."""

    hidden_size: int
    layer_count: int
    head_count: int
    key_value_head_count: int
    head_size: int
    intermediate_size: int
    vocabulary_size: int
    max_positions: int
    is_tied: bool
    """Whether the output head is the embedding."""

    @property
    def module_sizes(self) -> dict[str, tuple[int, int]]:
        """Rows and columns of a layer's projections, by name."""
        query = self.head_count * self.head_size
        key_value = self.key_value_head_count * self.head_size
        return {
            "q_proj": (query, self.hidden_size),
            "k_proj": (key_value, self.hidden_size),
            "v_proj": (key_value, self.hidden_size),
            "o_proj": (self.hidden_size, query),
            "gate_proj": (self.intermediate_size, self.hidden_size),
            "up_proj": (self.intermediate_size, self.hidden_size),
            "down_proj": (self.hidden_size, self.intermediate_size),
        }

    @property
    def layer_parameter_count(self) -> int:
        """Parameters of the projections of all layers."""
        return self.layer_count * sum(rows * columns for rows, columns in self.module_sizes.values())

    @property
    def other_parameter_count(self) -> int:
        """Parameters of embedding, output head and norms."""
        norms = self.layer_count * (2 * self.hidden_size + 2 * self.head_size) + self.hidden_size
        return (1 if self.is_tied else 2) * self.vocabulary_size * self.hidden_size + norms

    @property
    def parameter_count(self) -> int:
        """All parameters."""
        return self.layer_parameter_count + self.other_parameter_count

    def adapter_parameter_count(self, lora: LoraSpec) -> int:
        """Parameters of adapters on the targeted projections and embedding."""
        sizes = [self.module_sizes[name] for name in lora.layers]
        embedding = 0
        if lora.has_trained_embedding:
            embedding = self.vocabulary_size * self.hidden_size
        return self.layer_count * lora.rank * sum(rows + columns for rows, columns in sizes) + embedding

    def configuration(self, **fields: Any) -> "Qwen3Config":
        """Return the library's configuration of the shape and `fields`."""
        from transformers import Qwen3Config

        named = {name: getattr(self, field) for field, name in CONFIG_NAMES.items()}
        return Qwen3Config(**named, head_dim=self.head_size, tie_word_embeddings=self.is_tied, **fields)


CONFIG_NAMES = {
    "hidden_size": "hidden_size",
    "layer_count": "num_hidden_layers",
    "head_count": "num_attention_heads",
    "key_value_head_count": "num_key_value_heads",
    "intermediate_size": "intermediate_size",
    "vocabulary_size": "vocab_size",
    "max_positions": "max_position_embeddings",
}
"""Fields of a shape as Qwen3's `config.json` calls them."""
KNOWN_SHAPES: dict[str, ModelShape] = {
    "Qwen/Qwen3-8B": ModelShape(4096, 36, 32, 8, 128, 12288, 151936, 40960, is_tied=False),
    "Qwen/Qwen3-1.7B": ModelShape(2048, 28, 16, 8, 128, 6144, 151936, 40960, is_tied=True),
}
"""Shapes of hub models whose size is asked for without their files."""


def shape_of(spec: TrainingSpec, source: str) -> ModelShape | None:
    """Return the shape of a training's start; None if unknown here.

    Then only the hub holds it.
    """
    if spec.architecture is not None and spec.tokenizer is not None:
        return scratch_shape(spec.architecture, spec.tokenizer.vocabulary_size)
    config = find_config(source, spec.base_revision)
    if config is not None:
        return shape_from_config(json.loads(config.read_text(encoding="utf-8")))
    return KNOWN_SHAPES.get(source)


def known_positions(source: str, revision: str | None) -> int | None:
    """Return a model's positions by its configuration, or None."""
    config = find_config(source, revision)
    if config is None:
        known = KNOWN_SHAPES.get(source)
        if known is None:
            return None
        return known.max_positions
    return json.loads(config.read_text(encoding="utf-8")).get("max_position_embeddings")


def find_config(source: str, revision: str | None) -> Path | None:
    """Return a model's `config.json` in folder or hub cache, or None.

    That of a commit on the hub is downloaded, so that a plan is the same before and after the model is.
    """
    config = Path(source) / "config.json"
    if config.exists():
        return config
    if is_local(source) or not source:
        return None
    from huggingface_hub import try_to_load_from_cache

    cached = try_to_load_from_cache(source, "config.json", revision=revision)
    if isinstance(cached, str):
        return Path(cached)
    if revision is None or source in KNOWN_SHAPES:
        return None
    return _downloaded_config(source, revision)


@cache  # a plan asks for each part, and an unreachable hub is slow to say so
def _downloaded_config(source: str, revision: str) -> Path | None:
    from huggingface_hub import hf_hub_download

    with suppress(OSError):  # whether the model is there at all is asked before a run starts
        return Path(hf_hub_download(source, "config.json", revision=revision))
    return None


def scratch_shape(spec: ArchitectureSpec, vocabulary_size: int) -> ModelShape:
    """Return a scratch model's shape: unshared heads, tied output."""
    heads = spec.hidden_size // spec.head_size
    counts = {"head_count": heads, "key_value_head_count": heads, "vocabulary_size": vocabulary_size}
    return ModelShape(**dict(spec), **counts, is_tied=True)


def shape_from_config(config: dict) -> ModelShape | None:
    """Return the shape in a `config.json`; None for other architectures."""
    try:
        named = {field: config[name] for field, name in CONFIG_NAMES.items()}
    except KeyError:
        return None
    head_size = config.get("head_dim") or named["hidden_size"] // named["head_count"]
    return ModelShape(**named, head_size=head_size, is_tied=bool(config.get("tie_word_embeddings")))
