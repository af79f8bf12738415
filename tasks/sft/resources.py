"""What a training takes in memory and on disk, estimated from the shape of its model."""

from typing import NamedTuple

from carryover.tasks.sft.hub import is_downloaded, is_local
from carryover.tasks.sft.model_shape import ModelShape
from carryover.tasks.sft.spec import TrainingSpec

GIB = 2**30
NF4_BYTES = 0.5 + 0.127 / 8
"""Bytes per parameter in NF4 with double quantization: 4 bits and 0.127 of constants (arXiv 2305.14314, section 3)."""
BFLOAT16_BYTES = 2
FLOAT32_BYTES = 4
TILE_POSITIONS, TILE_VOCABULARY = 4096, 32768
"""Positions and tokens of the vocabulary whose logits TRL's chunked loss holds at once, of packed sequences."""


class ResourceEstimate(NamedTuple):
    """Bytes that a training takes, by what they hold."""

    parameter_count: int
    trained_parameter_count: int
    weight_bytes: int
    """Weights, quantized ones included."""
    training_bytes: int
    """Gradients and both moments of the trained parameters."""
    activation_bytes: int
    """Activations of one forward pass and the logits that are held at once."""
    disk_bytes: int
    """Kept checkpoints and the saved model."""

    @property
    def memory_bytes(self) -> int:
        """Everything at once."""
        return self.weight_bytes + self.training_bytes + self.activation_bytes


def estimate_resources(spec: TrainingSpec, shape: ModelShape) -> ResourceEstimate:
    """Estimate a training's bytes; activations are the roughest part, and no GPU has measured them."""
    width = BFLOAT16_BYTES if spec.precision == "bfloat16" else FLOAT32_BYTES
    adapter = shape.adapter_parameter_count(spec.lora) if spec.lora is not None else 0
    trained = adapter or shape.parameter_count
    layer_width = NF4_BYTES if spec.method == "qlora" else width
    weights = shape.layer_parameter_count * layer_width + (shape.other_parameter_count + adapter) * width
    tokens = spec.batch.sequences * spec.batch.max_length if spec.batch.packing else spec.batch.tokens
    kept = shape.hidden_size if spec.gradient_checkpointing else _layer_activations(shape)
    working = _layer_activations(shape) if spec.gradient_checkpointing else 0
    activations = tokens * (shape.layer_count * kept + working) * width
    logits = _logits_at_once(tokens, shape.vocabulary_size, is_tiled=spec.batch.packing) * FLOAT32_BYTES
    saved = trained * width
    return ResourceEstimate(
        parameter_count=shape.parameter_count + adapter,
        trained_parameter_count=trained,
        weight_bytes=round(weights),
        training_bytes=3 * trained * width,
        activation_bytes=activations + logits,
        disk_bytes=saved + (spec.kept_checkpoints + 1) * 3 * saved,  # a new checkpoint is whole before the oldest goes
    )


def download_bytes(spec: TrainingSpec, source: str, shape: ModelShape) -> int:
    """Return the bytes of a hub model's weights, which are published in bfloat16; 0 where they need no download."""
    is_of_hub = spec.architecture is None and bool(source) and not is_local(source)
    is_missing = is_of_hub and not is_downloaded(source, spec.base_revision)
    return shape.parameter_count * BFLOAT16_BYTES if is_missing else 0


def _logits_at_once(tokens: int, vocabulary_size: int, *, is_tiled: bool) -> int:
    """Return at most how many logits are held: our own loss, of sequences side by side, takes all of them at once."""
    if not is_tiled:
        return tokens * vocabulary_size
    return min(tokens, TILE_POSITIONS) * min(vocabulary_size, TILE_VOCABULARY)


def _layer_activations(shape: ModelShape) -> int:
    """Numbers per token that the backward pass of one layer reads: norms' inputs, projections, the gated product."""
    query, key_value = shape.head_count * shape.head_size, shape.key_value_head_count * shape.head_size
    return 6 * shape.hidden_size + 4 * query + 4 * key_value + 4 * shape.intermediate_size
