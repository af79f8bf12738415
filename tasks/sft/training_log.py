"""The log of a training: one JSON line per logging step, for rows of the warehouse and for a progress bar elsewhere."""

import math
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from carryover.tasks.running.errors import UserError
from carryover.tasks.running.frozen_model import FrozenModel

if TYPE_CHECKING:
    from transformers import TrainerCallback

LOG_NAME = "training_log.jsonl"


class TrainingMetric(FrozenModel):
    """What a logging step saw; the fields of `TrainingMetricRow`, and the step at which the training ends."""

    optimizer_step: int
    total_steps: int
    epoch: float
    loss: float
    """Mean over the steps since the previous line, per learned token."""
    learning_rate: float
    """Of the first parameter group: Muon's where the spec has it."""
    gradient_norm: float | None
    """Before clipping, at this step."""
    token_count: int
    """Tokens seen so far, padding excluded."""
    wall_seconds: float
    """Training time so far, over all attempts of a resumed training."""
    token_accuracy: float | None = None
    """Share of learned tokens that were the most likely ones, since the previous line."""
    entropy: float | None = None
    """Mean entropy of the next token at learned positions, in nats, since the previous line."""
    peak_memory_bytes: int | None = None
    """Largest allocation of the GPU so far; without one, of the process."""
    utilization: float | None = None
    """Share of the GPU's peak operations, recomputation included, since the previous line; null without a known GPU."""
    validation_loss: float | None = None
    """Loss on the held-out conversations at this step; null where it was not taken."""


OnLog = Callable[[TrainingMetric], None]
"""Told of every logging step, in order."""


def read_log(path: Path) -> list[TrainingMetric]:
    """Return the metrics that a training has logged so far; a last line still being written is left out."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").split("\n")
    return [TrainingMetric.model_validate_json(line) for line in lines[:-1]]


class DivergedError(UserError):
    """A training whose loss, gradients or weights are no numbers any more."""

    def __init__(self, what: str, step: int, learning_rate: float, folder: Path) -> None:
        super().__init__(
            f"the training diverged: {what} at optimizer step {step} with learning rate {learning_rate:g}; lower "
            "optimizer.learning_rate, lengthen its warm-up or lower optimizer.max_gradient_norm, and train in another "
            f"folder or delete {folder}, which keeps the checkpoints of these settings"
        )


def log_callback(path: Path, on_log: OnLog | None, seconds_per_token: float | None = None) -> "TrainerCallback":
    """Return a trainer callback that appends metrics to the log and passes them on.

    `seconds_per_token` is what the GPU would take at its peak; utilization is measured against it.

    A resumed training drops the lines behind its checkpoint and adds to their time.
    A loss or gradient norm that is not finite is a `DivergedError` before the step is logged or saved.
    """
    import torch
    from transformers import TrainerCallback

    class LogCallback(TrainerCallback):
        """Writes what the trainer logs."""

        def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            earlier = [metric for metric in read_log(path) if metric.optimizer_step <= state.global_step]
            path.write_text("".join(f"{metric.model_dump_json()}\n" for metric in earlier), encoding="utf-8")
            self.started = time.monotonic() - (earlier[-1].wall_seconds if earlier else 0.0)

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            control.should_log |= state.global_step == state.max_steps  # the last steps have a line, too

        def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float] | None = None, **_: Any) -> None:
            if logs is None or "loss" not in logs:
                *before, last = read_log(path) or [None]
                if logs is not None and "eval_loss" in logs and last and last.optimizer_step == state.global_step:
                    lines = [*before, last.model_copy(update={"validation_loss": logs["eval_loss"]})]
                    path.write_text("".join(f"{each.model_dump_json()}\n" for each in lines if each), encoding="utf-8")
                return
            for name, what in (("loss", "the loss"), ("grad_norm", "the gradient norm")):
                if not math.isfinite(logs.get(name, 0.0)):
                    raise DivergedError(
                        f"{what} is {logs[name]}", state.global_step, logs["learning_rate"], path.parent
                    )
            earlier, seconds = read_log(path), round(time.monotonic() - self.started, 3)
            tokens = state.num_input_tokens_seen - (earlier[-1].token_count if earlier else 0)
            passed = seconds - (earlier[-1].wall_seconds if earlier else 0.0)
            metric = TrainingMetric(
                optimizer_step=state.global_step,
                total_steps=state.max_steps,
                epoch=state.epoch,
                loss=logs["loss"],
                learning_rate=logs["learning_rate"],
                gradient_norm=logs.get("grad_norm"),
                token_count=state.num_input_tokens_seen,
                wall_seconds=seconds,
                token_accuracy=logs.get("mean_token_accuracy"),
                entropy=logs.get("entropy"),
                peak_memory_bytes=(
                    torch.cuda.max_memory_allocated()
                    if torch.cuda.is_available()
                    else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
                ),
                utilization=tokens * seconds_per_token / passed if seconds_per_token and passed > 0 else None,
            )
            with path.open("a", encoding="utf-8") as file:
                file.write(metric.model_dump_json() + "\n")
            if on_log is not None:
                on_log(metric)

    return LogCallback()
