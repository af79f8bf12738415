"""Steps, memory, disk and hours of a training, estimated from the shape of its model and the length of its examples."""

import math
from typing import NamedTuple

from carryover.tasks.running.errors import UserError
from carryover.tasks.sft.hub import is_downloaded, is_local
from carryover.tasks.sft.model_shape import ModelShape
from carryover.tasks.sft.spec import TrainingSpec

GIB = 2**30
NF4_BYTES = 0.5 + 0.127 / 8
"""Bytes per parameter in NF4 with double quantization: 4 bits and 0.127 of constants (arXiv 2305.14314, section 3)."""
OPTIMIZER_BYTES = 12
"""Gradient and both moments of a trained parameter, in float32."""
LOGIT_BYTES = 4096 * 32768 * 4
"""One tile of TRL's chunked loss; two are held at once."""
PACKED_SHARE = 0.92
"""How full best-fit packing fills a sequence with traces as long as Table 5's."""
UTILISATION = 0.4
"""Share of a GPU's peak that training reaches on the operations counted here; not measured on this code."""
PEAK_FLOPS: dict[str, float] = {"one A100": 312e12, "one H100": 989e12}
"""Dense bfloat16 operations per second (vendor's data sheets)."""
CORE_FLOPS = 2e10
"""Sustained float32 operations per second of one CPU core on models of a million parameters; ours."""
GPU_GIB = 80
"""Memory of the paper's GPU (appendix C.2)."""


class ResourceEstimate(NamedTuple):
    """Bytes that a training takes in memory and on disk."""

    weight_bytes: int
    """Weights, quantized ones included."""
    optimizer_bytes: int
    """Gradients and both moments of the trained parameters."""
    activation_bytes: int
    """Saved tensors of one forward pass and the logits that are held at once."""
    disk_bytes: int
    """Kept checkpoints and the saved model."""

    @property
    def memory_bytes(self) -> int:
        """Everything at once."""
        return self.weight_bytes + self.optimizer_bytes + self.activation_bytes


def estimate_resources(spec: TrainingSpec, shape: ModelShape) -> ResourceEstimate:
    """Estimate a training's bytes.

    Raises:
        UserError: A sequence is longer than the model's positions.
    """
    if spec.batch.max_length > shape.max_positions:
        raise UserError(
            f"batch.max_length {spec.batch.max_length:,} is beyond the model's {shape.max_positions:,} positions; "
            "lower it"
        )
    width = 2 if spec.precision == "bfloat16" else 4
    adapter = shape.adapter_parameter_count(spec.lora) if spec.lora is not None else 0
    trained = adapter or shape.parameter_count
    layer_width = NF4_BYTES if spec.method == "qlora" else width
    weights = shape.layer_parameter_count * layer_width + shape.other_parameter_count * width + adapter * 4
    tokens = spec.batch.sequences * spec.batch.max_length if spec.batch.packing else spec.batch.tokens
    layer = _saved_bytes_per_token(spec, shape, width)
    kept = shape.layer_count * shape.hidden_size * width + layer if spec.gradient_checkpointing else 0
    activations = tokens * (kept or shape.layer_count * layer)
    logits = 2 * LOGIT_BYTES if spec.batch.packing else tokens * shape.vocabulary_size * 4
    saved = trained * 4
    return ResourceEstimate(
        weight_bytes=round(weights),
        optimizer_bytes=trained * OPTIMIZER_BYTES,
        activation_bytes=activations + logits,
        disk_bytes=saved + (spec.kept_checkpoints + 1) * 3 * saved,  # a new checkpoint is whole before the oldest goes
    )


def _saved_bytes_per_token(spec: TrainingSpec, shape: ModelShape, width: int) -> int:
    """Return the bytes per token that one layer keeps for its backward pass."""
    hidden, inner = shape.hidden_size, shape.intermediate_size
    query, key_value = shape.head_count * shape.head_size, shape.key_value_head_count * shape.head_size
    norms = 4 * (2 * hidden + query + key_value)  # in float32
    attention = width * 2 * (query + key_value)
    gated = width * 3 * inner
    if spec.lora is None:  # projections that read the same input share it
        return norms + attention + gated + width * (2 * hidden + query + inner)
    inputs = 5 * hidden + query + inner
    return norms + attention + gated + (width + (spec.lora.dropout > 0)) * inputs  # dropout's mask takes a byte


def download_bytes(spec: TrainingSpec, source: str, shape: ModelShape) -> int:
    """Return the bytes of a hub model's weights, which are published in bfloat16; 0 where they need no download."""
    is_of_hub = spec.architecture is None and bool(source) and not is_local(source)
    is_missing = is_of_hub and not is_downloaded(source, spec.base_revision)
    return shape.parameter_count * 2 if is_missing else 0


def step_count(spec: TrainingSpec, token_count: float) -> int:
    """Estimate the optimizer steps of a training from the tokens of one pass."""
    batch = spec.batch
    per_pass = batch.sequences * batch.max_length if batch.packing else batch.tokens
    steps = math.ceil(math.ceil(token_count / (PACKED_SHARE * per_pass * batch.accumulation)) * spec.epochs)
    return steps if spec.max_steps is None else min(steps, spec.max_steps)


def training_flops(spec: TrainingSpec, shape: ModelShape, mean_length: float) -> float:
    """Return the operations per token: forward 2 per parameter, backward the same for activations and for what moves.

    Checkpointing computes every layer once more. Causal attention reads half of its own conversation, forward once and
    backward twice and a half.
    """
    matrices = shape.parameter_count - (0 if shape.is_tied else shape.vocabulary_size * shape.hidden_size)
    attention = 2 * mean_length * shape.head_count * shape.head_size * shape.layer_count
    again = 1 if spec.gradient_checkpointing else 0
    return 2 * matrices * (2 + again + (spec.lora is None)) + attention * (3.5 + again)


def training_hours(
    spec: TrainingSpec, shape: ModelShape, token_count: float, mean_length: float, device: str = "one H100"
) -> float:
    """Return the hours of a training that sees `token_count` tokens in examples of `mean_length`."""
    operations = training_flops(spec, shape, mean_length) * token_count
    if not spec.is_for_gpu:
        return operations / (CORE_FLOPS * spec.cpu_threads) / 3600
    return operations / (PEAK_FLOPS[device] * UTILISATION) / 3600


def seconds_per_token(spec: TrainingSpec, shape: ModelShape, mean_length: float, device: str) -> float | None:
    """Return the seconds that a token takes at the peak of a GPU, found by name; none for another device."""
    peak = next((peak for name, peak in PEAK_FLOPS.items() if name.removeprefix("one ") in device), None)
    return None if peak is None else training_flops(spec, shape, mean_length) / peak


def hours_on(hours: list[float], gpu_count: int) -> float:
    """Return the hours of trainings side by side, the longest first, each on the first GPU that is free."""
    busy = [0.0] * gpu_count
    for each in sorted(hours, reverse=True):
        busy[busy.index(min(busy))] += each
    return max(busy)
