"""What a training would take, said before it starts: no GPU, no weights, no library of models."""

import math
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from carryover.tasks.datasets.conversations import Conversation, read_conversations
from carryover.tasks.running.errors import UserError
from carryover.tasks.sft.batches import group_by_length
from carryover.tasks.sft.example_lengths import ExpectedExamples
from carryover.tasks.sft.hub import check_folder, expanded
from carryover.tasks.sft.intervals import find_intervals
from carryover.tasks.sft.load import load_training_tokenizer
from carryover.tasks.sft.model_shape import ModelShape, shape_of
from carryover.tasks.sft.packing import packed_count
from carryover.tasks.sft.prepare import NOTHING_TO_LEARN, learnable_rows, split_rows
from carryover.tasks.sft.resources import GIB, ResourceEstimate, download_bytes, estimate_resources
from carryover.tasks.sft.spec import TrainingSpec

CHARACTERS_PER_TOKEN = 3.5
"""The authors' own rule where no tokenizer is at hand."""
TEMPLATE_TOKENS = 5
"""Control tokens, role and newlines of one message."""
UTILISATION = 0.4
"""Share of a GPU's peak that training reaches; 8,200 tokens/s, published for Qwen3-8B in NF4 on one H100, is 0.41."""
PEAK_FLOPS: dict[str, float] = {"one A100": 312e12, "one H100": 989e12}
"""Dense bfloat16 operations per second (vendor's data sheets)."""
CORE_FLOPS = 2e10
"""Sustained float32 operations per second of one CPU core on models of a million parameters; ours."""
GPU_GIB = 80
"""Memory of the paper's GPU (appendix C.2)."""
COUNTED = "counted"


class TrainingEstimate(BaseModel):
    """The figures of a dry run; what is not counted says how it was estimated."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    example_count: int
    """Conversations trained on, those held out for validation left out."""
    validation_count: int
    token_count: int
    """Tokens of one pass."""
    token_source: str
    """`counted`, or what the tokens are estimated from."""
    sequence_count: int
    """Sequences (packed) or batches (not packed) of one pass."""
    filled_share: float | None
    """Tokens over the room of packed sequences; none for batches of like length."""
    step_count: int
    """Optimizer steps, all passes."""
    effective_batch: str
    """What one optimizer step sees, in words."""
    save_steps: int
    """Optimizer steps between checkpoints, which is what a kill can lose."""
    kept_checkpoints: int
    resources: ResourceEstimate | None
    """Estimated bytes; none where the model's shape is not known here."""
    download_bytes: int
    """Estimated bytes of a hub model's weights, where the training starts from one."""
    hours: dict[str, float]
    """Estimated hours by device."""
    warnings: tuple[str, ...] = ()
    """What may fail and rests on an estimate, so that nothing is refused for it."""

    def lines(self) -> list[str]:
        """Return the estimate as lines for a person."""
        about = "" if self.token_source == COUNTED else "about "
        filled = "" if self.filled_share is None else f", {self.filled_share:.0%} full"
        lines = [
            f"examples: {self.example_count:,} to train, {self.validation_count:,} to validate",
            f"tokens per pass: {about}{self.token_count:,} ({self.token_source})",
            f"sequences per pass: {about}{self.sequence_count:,}{filled}",
            f"optimizer steps: {about}{self.step_count:,}",
            f"effective batch: {self.effective_batch}",
            f"checkpoints: {about}every {self.save_steps:,} steps, the last {self.kept_checkpoints:,} are kept",
        ]
        if self.resources is not None:
            parts = self.resources
            downloaded = f", and {self.download_bytes / GIB:.1f} for the base's download" if self.download_bytes else ""
            lines += [
                f"parameters: {parts.parameter_count:,}, trained {parts.trained_parameter_count:,}",
                f"memory (estimate): {parts.memory_bytes / GIB:.1f} GiB = weights {parts.weight_bytes / GIB:.1f}"
                f" + optimizer {parts.training_bytes / GIB:.1f} + activations {parts.activation_bytes / GIB:.1f}",
                f"disk (estimate): {parts.disk_bytes / GIB:.1f} GiB{downloaded}",
            ]
        lines += [f"hours on {device} (estimate): {hours:.2f}" for device, hours in self.hours.items()]
        return lines + [f"warning: {warning}" for warning in self.warnings]


def plan_training(
    spec: TrainingSpec,
    examples: Path | ExpectedExamples,
    tokenizer_path: str | Path | None = None,
    *,
    seed: int = 0,
    base_model: str | Path | None = None,
    base_training: TrainingSpec | None = None,
    gpu_gib: float = GPU_GIB,
) -> TrainingEstimate:
    """Return what a training takes.

    Args:
        spec: The training.
        examples: Its conversations as JSONL, or how long they will be.
        tokenizer_path: A local tokenizer that counts the conversations' tokens; without one characters are counted.
        seed: Seed of the training; it decides which conversations are held out, and what shares a batch.
        base_model: What to start from instead of `spec.base_model`.
        base_training: How a base of the study's own is trained, which tells its shape.
        gpu_gib: Memory of the GPU that a training is meant for, in GiB.

    Raises:
        UserError: A setting cannot work; the message names it, its value and the way out.
    """
    source = expanded(str(base_model or spec.base_model or ""))
    if source:
        check_folder(source, "base model")
    shape = shape_of(base_training or spec, source)
    resources = None if shape is None else _fitting_resources(spec, shape, gpu_gib)
    lengths, token_source = _lengths(spec, examples, tokenizer_path)
    if not lengths:
        raise UserError(NOTHING_TO_LEARN)
    warnings = _too_long(spec, lengths, token_source)
    clipped = [min(length, spec.batch.max_length) for length in lengths]
    lengths, held_out = split_rows(clipped, spec.validation_share, seed)
    if not lengths:
        raise UserError(f"validation_share {spec.validation_share} leaves nothing to train on; lower it or add data")
    sequences = _sequence_count(spec, lengths, seed)
    per_pass = _steps_per_pass(spec, sequences)
    steps = math.ceil(per_pass * spec.epochs)
    step_count = steps if spec.max_steps is None else min(steps, spec.max_steps)
    return TrainingEstimate(
        example_count=len(lengths),
        validation_count=len(held_out),
        token_count=sum(lengths),
        token_source=token_source,
        sequence_count=sequences,
        filled_share=sum(lengths) / (sequences * spec.batch.max_length) if spec.batch.packing else None,
        step_count=step_count,
        effective_batch=effective_batch(spec),
        save_steps=find_intervals(spec, step_count).saving,
        kept_checkpoints=spec.kept_checkpoints,
        resources=resources,
        download_bytes=0 if shape is None else download_bytes(spec, source, shape),
        hours=training_hours(spec, shape, sum(lengths) * step_count / per_pass),
        warnings=warnings,
    )


def effective_batch(spec: TrainingSpec) -> str:
    """Say what one optimizer step sees."""
    batch = spec.batch
    if not batch.packing:
        return (
            f"{batch.accumulation} x {batch.tokens:,} padded tokens of conversations of like length = "
            f"{batch.accumulation * batch.tokens:,} tokens per step at most"
        )
    total = batch.sequences * batch.accumulation * batch.max_length
    return (
        f"{batch.sequences} sequence x {batch.accumulation} accumulated x {batch.max_length:,} tokens = "
        f"{total:,} tokens per step"
    )


def _fitting_resources(spec: TrainingSpec, shape: ModelShape, gpu_gib: float) -> ResourceEstimate:
    """Return what a training takes; raise `UserError` for one that the model or the GPU cannot do."""
    if spec.batch.max_length > shape.max_positions:
        raise UserError(
            f"batch.max_length {spec.batch.max_length:,} is beyond the model's {shape.max_positions:,} positions; "
            "lower it"
        )
    resources = estimate_resources(spec, shape)
    if spec.is_for_gpu and resources.memory_bytes > gpu_gib * GIB:
        raise UserError(
            f"training {spec.name} takes about {resources.memory_bytes / GIB:.0f} GiB and the GPU has {gpu_gib:.0f}; "
            "lower batch.max_length or batch.sequences, or use method 'qlora'"
        )
    return resources


def _steps_per_pass(spec: TrainingSpec, sequence_count: int) -> int:
    forward_passes = sequence_count / (spec.batch.sequences if spec.batch.packing else 1)
    return math.ceil(forward_passes / spec.batch.accumulation)


def _lengths(
    spec: TrainingSpec, examples: Path | ExpectedExamples, tokenizer_path: str | Path | None
) -> tuple[list[int], str]:
    if isinstance(examples, ExpectedExamples):
        return list(examples.lengths), f"estimated from {examples.source}"
    conversations = read_conversations(examples)
    if tokenizer_path is None:
        lengths = [_length_from_characters(each) for each in conversations if each.has_learned]
        return lengths, "estimated from characters"
    rows = learnable_rows(conversations, load_training_tokenizer(spec, tokenizer_path), spec.batch.max_length)
    return [len(ids) for ids, _ in rows], COUNTED


def _length_from_characters(conversation: Conversation) -> int:
    return sum(
        TEMPLATE_TOKENS + math.ceil(len(message.content) / CHARACTERS_PER_TOKEN) for message in conversation.messages
    )


def _too_long(spec: TrainingSpec, lengths: list[int], token_source: str) -> tuple[str, ...]:
    """Return as a warning that an estimated length is beyond the training's; a counted one has been refused."""
    if max(lengths) <= spec.batch.max_length:
        return ()
    return (
        f"a conversation has about {max(lengths):,} tokens ({token_source}), more than batch.max_length "
        f"{spec.batch.max_length:,}; truncate the dataset to the training length",
    )


def _sequence_count(spec: TrainingSpec, lengths: list[int], seed: int) -> int:
    if spec.batch.packing:
        return packed_count(lengths, spec.batch.max_length)
    return len(group_by_length(lengths, token_budget=spec.batch.tokens, seed=seed))


def training_hours(spec: TrainingSpec, shape: ModelShape | None, token_count: float) -> dict[str, float]:
    """Return the hours of a training by device, none where the model's shape is not known.

    Forward 2, backward 2 for activations and 2 for weights or their recomputation: 6 operations per parameter.
    """
    if shape is None:
        return {}
    operations = 6.0 * shape.parameter_count * token_count
    if not spec.is_for_gpu:
        return {"one CPU core": operations / (CORE_FLOPS * spec.cpu_threads) / 3600}
    return {device: operations / (peak * UTILISATION) / 3600 for device, peak in PEAK_FLOPS.items()}
