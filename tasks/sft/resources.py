"""What a training takes: parameters, memory and disk, from the shape of its model."""

import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tasks.running.errors import UserError
from tasks.sft.spec import ArchitectureSpec, LoraSpec, TrainingSpec

if TYPE_CHECKING:
    from transformers import Qwen3Config

GIB = 2**30
NF4_BYTES = 0.5 + 0.127 / 8
"""Bytes per parameter in NF4 with double quantization: 4 bits and 0.127 of constants (arXiv 2305.14314, section 3)."""
BFLOAT16_BYTES = 2
FLOAT32_BYTES = 4
LOGIT_TILE = 32768
"""Tokens of the vocabulary whose logits the trainer holds at once."""


CGROUP_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""Where a container finds the limit of its memory, in version 2 and 1 of control groups."""


class ModelShape(NamedTuple):
    """The numbers that decide a Qwen3-architecture model's size."""

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
        query, key_value = self.head_count * self.head_size, self.key_value_head_count * self.head_size
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
        """Parameters of adapters on the projections that the LoRA targets, and of an embedding trained beside them."""
        sizes = [self.module_sizes[name] for name in lora.target_modules]
        embedding = self.vocabulary_size * self.hidden_size if lora.has_trained_embedding else 0
        return self.layer_count * lora.rank * sum(rows + columns for rows, columns in sizes) + embedding

    def configuration(self, **fields: Any) -> "Qwen3Config":
        """Return the library's configuration of such a model; `fields` are what a shape does not say, e.g. `dtype`."""
        from transformers import Qwen3Config

        return Qwen3Config(
            vocab_size=self.vocabulary_size,
            hidden_size=self.hidden_size,
            intermediate_size=self.intermediate_size,
            num_hidden_layers=self.layer_count,
            num_attention_heads=self.head_count,
            num_key_value_heads=self.key_value_head_count,
            head_dim=self.head_size,
            max_position_embeddings=self.max_positions,
            tie_word_embeddings=self.is_tied,
            **fields,
        )


KNOWN_SHAPES: dict[str, ModelShape] = {
    "Qwen/Qwen3-8B": ModelShape(4096, 36, 32, 8, 128, 12288, 151936, 40960, is_tied=False),
}
"""Shapes of hub models whose size is asked for without their files."""


class ResourceEstimate(NamedTuple):
    """Bytes that a training takes, by what they hold."""

    parameter_count: int
    trained_parameter_count: int
    weight_bytes: int
    """Weights, quantized ones included."""
    training_bytes: int
    """Gradients and both moments of the trained parameters."""
    activation_bytes: int
    """Activations of one forward pass and the logits' tiles."""
    disk_bytes: int
    """Kept checkpoints and the saved model."""

    @property
    def memory_bytes(self) -> int:
        """Everything at once."""
        return self.weight_bytes + self.training_bytes + self.activation_bytes


def shape_of(spec: TrainingSpec, source: str) -> ModelShape | None:
    """Return the shape of the model that a training starts from; none where only its files would tell."""
    if spec.architecture is not None and spec.tokenizer is not None:
        return scratch_shape(spec.architecture, spec.tokenizer.vocabulary_size)
    config = Path(source) / "config.json"
    if config.exists():
        return _shape_from_config(json.loads(config.read_text(encoding="utf-8")))
    return KNOWN_SHAPES.get(source)


def scratch_shape(spec: ArchitectureSpec, vocabulary_size: int) -> ModelShape:
    """Return the shape of a scratch model: every head with its own keys and values, the output head tied."""
    heads = spec.hidden_size // spec.head_size
    return ModelShape(
        spec.hidden_size,
        spec.layer_count,
        heads,
        heads,
        spec.head_size,
        spec.intermediate_size,
        vocabulary_size,
        spec.max_positions,
        is_tied=True,
    )


def estimate_resources(spec: TrainingSpec, shape: ModelShape) -> ResourceEstimate:
    """Estimate a training's bytes; activations are the roughest part (within a factor of 1.5)."""
    width = BFLOAT16_BYTES if spec.precision == "bfloat16" else FLOAT32_BYTES
    adapter = shape.adapter_parameter_count(spec.lora) if spec.lora is not None else 0
    trained = adapter or shape.parameter_count
    layer_width = NF4_BYTES if spec.method == "qlora" else width
    weights = shape.layer_parameter_count * layer_width + (shape.other_parameter_count + adapter) * width
    tokens = spec.batch.sequences * spec.batch.max_length if spec.batch.packing else spec.batch.tokens
    kept = shape.hidden_size if spec.gradient_checkpointing else _layer_activations(shape)
    working = _layer_activations(shape) if spec.gradient_checkpointing else 0
    activations = tokens * (shape.layer_count * kept + working) * width
    logits = tokens * min(shape.vocabulary_size, LOGIT_TILE) * FLOAT32_BYTES
    saved = trained * width
    return ResourceEstimate(
        parameter_count=shape.parameter_count + adapter,
        trained_parameter_count=trained,
        weight_bytes=round(weights),
        training_bytes=3 * trained * width,
        activation_bytes=activations + logits,
        disk_bytes=saved + (spec.kept_checkpoints + 1) * 3 * saved,  # a new checkpoint is whole before the oldest goes
    )


def check_resources(spec: TrainingSpec, source: str, output: Path) -> None:
    """Do nothing where a training fits on this machine.

    Raises:
        UserError: The disk behind `output`, the GPU's memory, or without a GPU the machine's, is too small.
    """
    shape = shape_of(spec, source)
    if shape is None:
        return
    estimate = estimate_resources(spec, shape)
    output.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(output).free
    if estimate.disk_bytes > free:
        raise UserError(
            f"training {spec.name} writes about {estimate.disk_bytes / GIB:.1f} GiB and {output} has "
            f"{free / GIB:.1f} GiB free; free some space or choose another folder"
        )
    memory, owner = _memory()
    if estimate.memory_bytes > memory:
        raise UserError(
            f"training {spec.name} takes about {estimate.memory_bytes / GIB:.1f} GiB of memory and {owner} has "
            f"{memory / GIB:.1f} GiB; use a larger machine, or lower batch.max_length or batch.tokens"
        )


def _memory() -> tuple[int, str]:
    import os

    import torch

    if torch.cuda.is_available():
        return torch.cuda.get_device_properties(0).total_memory, torch.cuda.get_device_name(0)
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return smallest_limit(physical, CGROUP_LIMITS), "this machine (no GPU)"


def smallest_limit(physical: int, files: Iterable[Path]) -> int:
    """Return the bytes that a process may take: the machine's, or a lower limit that a control group's file names."""
    words = [file.read_text(encoding="ascii").strip() for file in files if file.is_file()]
    return min([physical, *(int(word) for word in words if word.isdigit())])  # "max" is no limit


def _layer_activations(shape: ModelShape) -> int:
    """Numbers per token that the backward pass of one layer reads: norms' inputs, projections, the gated product."""
    query, key_value = shape.head_count * shape.head_size, shape.key_value_head_count * shape.head_size
    return 6 * shape.hidden_size + 4 * query + 4 * key_value + 4 * shape.intermediate_size


def _shape_from_config(config: dict) -> ModelShape | None:
    try:
        return ModelShape(
            config["hidden_size"],
            config["num_hidden_layers"],
            config["num_attention_heads"],
            config["num_key_value_heads"],
            config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"],
            config["intermediate_size"],
            config["vocab_size"],
            config["max_position_embeddings"],
            bool(config.get("tie_word_embeddings")),
        )
    except KeyError:
        return None
