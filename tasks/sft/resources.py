"""Estimates of a training's steps, memory, disk and hours."""

import json
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from carryover.tasks.services.errors import UserError
from carryover.tasks.services.hub import explained, find_file
from carryover.tasks.sft.model_shape import ModelShape, shape_from_config, shape_of
from carryover.tasks.sft.training_spec import TrainingSpec

GIB = 2**30
NF4_BYTES = 0.5 + 0.127 / 8
"""Bytes per parameter in NF4 with double quantization: 4 bits and 0.127 of constants (arXiv 2305.14314, section 3)."""
OPTIMIZER_BYTES = 12
"""Gradient and both moments of a trained parameter, in float32."""
LOGIT_BYTES = 4096 * 32768 * 4
"""One tile of TRL's chunked loss; two are held at once."""
PEAK_FLOPS: dict[str, float] = {"A100": 312e12, "H100": 989e12}
"""Dense bfloat16 operations per second (vendor's data sheets)."""
CORE_FLOPS = 2e10
"""Sustained float32 operations per second of one CPU core on models of a million parameters; ours."""
WIDE_HIDDEN_SIZE = 512
"""Hidden size from which on matrices keep a core's vector units busy."""
WIDE_CORE_FLOPS = {"float32": 6e10, "bfloat16": 1e11}
"""The same from there on, by precision: 88 and 144 tokens of SmolLM2-135M per CPU second, on a core with AVX-512."""
CPU_ACTIVATIONS = 2.0
"""Bytes of the largest pass on a CPU per byte that it saves: 1.9 for SmolLM2-135M, with `LARGE_BLOCKS`."""
CPU_PROCESS_BYTES = 600_000_000
"""A training's process on a CPU before it holds a model: interpreter and libraries."""
GPU_GIB = 80
"""Memory of the paper's GPU (appendix C.2)."""
CGROUP_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""Where a container finds the limit of its memory, in version 2 and 1 of control groups."""
_WAY_OUT_OF_MEMORY = "use a larger machine, or lower batch.max_length or batch.tokens"


class ResourceEstimate(NamedTuple):
    """Bytes that a training takes in memory and on disk."""

    weight_bytes: int
    """Weights, quantized ones included."""
    optimizer_bytes: int
    """Gradients and both moments of the trained parameters."""
    activation_bytes: int
    """Saved tensors of one forward pass and the logits that are held at once; on a CPU also what comes and goes."""
    process_bytes: int
    """Interpreter and libraries on a CPU, whose memory they share."""
    disk_bytes: int
    """Kept checkpoints and the saved model."""

    @property
    def memory_bytes(self) -> int:
        """Everything at once."""
        return self.weight_bytes + self.optimizer_bytes + self.activation_bytes + self.process_bytes


def estimate_resources(
    spec: TrainingSpec, shape: ModelShape, gpu_count: int = 1, longest: int | None = None
) -> ResourceEstimate:
    """Estimate a training's bytes, on each of its GPUs.

    `longest` is the tokens of the data's longest conversation; without it a conversation of `batch.max_length` is
    assumed. Raises `UserError` for sequences longer than the model's positions.
    """
    if spec.batch.max_length > shape.max_positions:
        length = f"{spec.batch.max_length:,}"
        positions = f"{shape.max_positions:,}"
        raise UserError(
            f"training sequences of {length} tokens exceed the model's {positions} positions; "
            "choose a model with more positions with --base-model"
        )
    adapter = 0 if spec.lora is None else shape.adapter_parameter_count(spec.lora)
    trained = adapter or shape.parameter_count
    activations = _activation_bytes(spec, shape, spec.batch.largest_pass(longest))
    return ResourceEstimate(
        weight_bytes=_weight_bytes(spec, shape, adapter, gpu_count),
        optimizer_bytes=trained * OPTIMIZER_BYTES // gpu_count,
        activation_bytes=activations if spec.is_for_gpu else round(activations * CPU_ACTIVATIONS),
        process_bytes=0 if spec.is_for_gpu else CPU_PROCESS_BYTES,
        disk_bytes=4 * trained * (1 + (spec.kept_checkpoints + 1) * 3),  # a new one is whole before the oldest goes
    )


def _number_width(spec: TrainingSpec) -> int:
    """Return the bytes of a number that is not quantized."""
    if spec.precision == "bfloat16":
        return 2
    return 4


def _weight_bytes(spec: TrainingSpec, shape: ModelShape, adapter: int, gpu_count: int) -> int:
    width = _number_width(spec)
    shards = shape.other_parameter_count * width + adapter * 4
    if spec.method == "qlora":  # quantized weights are not divided between GPUs
        return round(shape.layer_parameter_count * NF4_BYTES + shards / gpu_count)
    return round((shape.layer_parameter_count * width + shards) / gpu_count)


def _activation_bytes(spec: TrainingSpec, shape: ModelShape, tokens: int) -> int:
    """Return a pass's activation bytes, and the logits' held at once.

    Activations are kept for the backward pass.
    """
    width = _number_width(spec)
    hidden = shape.hidden_size
    inner = shape.intermediate_size
    query = shape.head_count * shape.head_size
    key_value = shape.key_value_head_count * shape.head_size
    if spec.lora is None:  # projections that read the same input share it
        inputs = width * (2 * hidden + query + inner)
    else:  # dropout's mask takes a byte
        inputs = (width + (spec.lora.dropout > 0)) * (5 * hidden + query + inner)
    # Bytes per token that one layer keeps for its backward pass: norms are float32, the rest attention and gate.
    attention = width * 2 * (query + key_value)
    layer = 4 * (2 * hidden + query + key_value) + attention + width * 3 * inner + inputs
    kept = shape.layer_count * layer
    if spec.gradient_checkpointing:
        # A checkpointed layer keeps attention's output, and its inputs where that is compiled.
        attended = attention if spec.attention in ("auto", "flex_attention") else width * query
        kept = shape.layer_count * (hidden * width + attended) + layer
    logits = 2 * LOGIT_BYTES if spec.batch.packing else tokens * shape.vocabulary_size * 4
    return tokens * kept + logits


def training_flops(spec: TrainingSpec, shape: ModelShape, mean_length: float) -> float:
    """Return a training's operations per token.

    Checkpointing computes every layer once more, but for attention. Causal attention reads half of its own
    conversation, forward once and backward twice and a half.
    """
    matrices = shape.parameter_count - (0 if shape.is_tied else shape.vocabulary_size * shape.hidden_size)
    attention = 2 * mean_length * shape.head_count * shape.head_size * shape.layer_count
    again = 1 if spec.gradient_checkpointing else 0
    return 2 * matrices * (2 + again + (spec.lora is None)) + attention * 3.5


def core_flops(spec: TrainingSpec, shape: ModelShape) -> float:
    """Return a CPU core's operations per second on a shape."""
    if shape.hidden_size >= WIDE_HIDDEN_SIZE:
        return WIDE_CORE_FLOPS[spec.precision]
    return CORE_FLOPS


def seconds_per_token(spec: TrainingSpec, shape: ModelShape, mean_length: float, device: str) -> float | None:
    """Return a token's seconds at a GPU's peak, or None.

    The GPU is found by name; other devices are unknown.
    """
    peak = next((peak for name, peak in PEAK_FLOPS.items() if name in device), None)
    if peak is None:
        return None
    return training_flops(spec, shape, mean_length) / peak


def hours_on(hours: list[float], gpu_count: int) -> float:
    """Return hours of trainings side by side, the longest first.

    Each takes the first GPU that is free.
    """
    busy = [0.0] * gpu_count
    for each in sorted(hours, reverse=True):
        busy[busy.index(min(busy))] += each
    return max(busy)


def can_share(spec: TrainingSpec, gpu_count: int) -> bool:
    """Tell whether GPUs can share the sequences of a training's steps."""
    return gpu_count == 1 or (spec.batch.packing and spec.batch.accumulation % gpu_count == 0)


def check_shares(spec: TrainingSpec, gpu_count: int) -> None:
    """Raise `UserError` if GPUs cannot share a step's sequences."""
    if not can_share(spec, gpu_count):
        raise UserError(
            f"training {spec.name} cannot be shared by {gpu_count} GPUs: it needs batch.packing and a multiple of "
            f"{gpu_count} as batch.accumulation, which is {spec.batch.accumulation}; choose another --gpus-per-training"
        )


def check_room(
    spec: TrainingSpec, source: str, output: Path, gpu_count: int = 1, *, longest: int | None = None
) -> None:
    """Raise `UserError` for a training beyond this machine, if known.

    `longest` is the tokens of the data's longest conversation.
    """
    import torch

    shape = find_shape(spec, source)
    if shape is None:
        return
    estimate = estimate_resources(spec, shape, gpu_count, longest)
    output.mkdir(parents=True, exist_ok=True)
    if estimate.disk_bytes > (free := shutil.disk_usage(output).free):
        raise UserError(
            f"training {spec.name} writes about {estimate.disk_bytes / GIB:.1f} GiB and {output} has "
            f"{free / GIB:.1f} GiB free; free some space or choose another folder"
        )
    if torch.cuda.is_available():
        memory = torch.cuda.mem_get_info()[0]
        owner = f"{torch.cuda.get_device_name(0)} (others' taken off)"
    else:
        physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        memory = smallest_limit(physical, CGROUP_LIMITS)
        owner = "this machine (no GPU)"
    if estimate.memory_bytes > memory:
        raise UserError(
            f"training {spec.name} takes about {estimate.memory_bytes / GIB:.1f} GiB of memory and {owner} has "
            f"{memory / GIB:.1f} GiB; {_WAY_OUT_OF_MEMORY}"
        )


@contextmanager
def telling_of_memory(spec: TrainingSpec) -> Iterator[None]:
    """Turn running out of memory into a `UserError`.

    What was checked before is an estimate.
    """
    import torch

    try:
        yield
    except (RuntimeError, MemoryError) as error:
        said = str(error).splitlines()[0] if str(error) else "no memory left"
        # on a CPU, torch's words are all that tell the end of memory from another RuntimeError
        if not isinstance(error, (torch.OutOfMemoryError, MemoryError)) and "can't allocate memory" not in said:
            raise
        raise UserError(f"training {spec.name} ran out of memory: {said}; {_WAY_OUT_OF_MEMORY}") from error


def unknown_size(spec: TrainingSpec, source: str) -> str | None:
    """Return a warning on a base of unknown size, else None.

    Raise what `find_shape` does.
    """
    if find_shape(spec, source) is not None:
        return None
    return (
        f"base model {source} of unknown size (its config.json lacks a number); "
        f"disk and memory check skipped for training {spec.name}"
    )


def find_shape(spec: TrainingSpec, source: str) -> ModelShape | None:
    """Return the shape of a training's start, asking the hub.

    Raise `UserError` if that fails.
    """
    if (shape := shape_of(spec, source)) is not None:
        return shape
    with explained(source, "base model"):
        config = find_file(source, "config.json", spec.base_revision)
        return shape_from_config(json.loads(config.read_text(encoding="utf-8")))


def smallest_limit(physical: int, files: Iterable[Path]) -> int:
    """Return a process's memory limit in bytes: machine's or control group's."""
    words = [file.read_text(encoding="ascii").strip() for file in files if file.is_file()]
    return min([physical, *(int(word) for word in words if word.isdigit())])  # "max" means unlimited
