"""The log of a training: a JSON line per logging step."""

import math
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from carryover.tasks.services.errors import UserError
from carryover.tasks.services.frozen_model import FrozenModel
from carryover.tasks.services.whole_files import write_whole

if TYPE_CHECKING:
    from transformers import TrainerCallback

LOG_NAME = "training_log.jsonl"


class TrainingMetric(FrozenModel):
    """Metrics of a logging step, with the training's last step."""

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
    """Loss on the held-out conversations at this step; null if it was not taken."""


OnLog = Callable[[TrainingMetric], None]
"""Told of every logging step, in order."""


def read_log(path: Path) -> list[TrainingMetric]:
    """Return the metrics that a training has logged so far."""
    if not path.exists():
        return []
    return [TrainingMetric.model_validate_json(line) for line in path.read_text(encoding="utf-8").splitlines()]


class DivergedError(UserError):
    """A training whose loss, gradients or weights are not finite."""

    def __init__(self, what: str, step: int, learning_rate: float, folder: Path) -> None:
        super().__init__(
            f"the training diverged: {what} at optimizer step {step} with learning rate {learning_rate:g}; lower "
            "optimizer.learning_rate, lengthen its warm-up or lower optimizer.max_gradient_norm, and train in another "
            f"folder or delete {folder}, which keeps the checkpoints of these settings"
        )


def log_callback(path: Path, on_log: OnLog | None, seconds_per_token: float | None = None) -> "TrainerCallback":
    """Return a trainer callback that logs metrics and passes them on.

    Utilization is measured against `seconds_per_token`, those of the GPU at its peak. A resumed training drops the
    lines behind its checkpoint and adds to their time. Of several processes one writes. A loss or gradient norm that is
    not finite is a `DivergedError` before the step is logged or saved.
    """
    from transformers import TrainerCallback

    class LogCallback(TrainerCallback):
        """Writes what the trainer logs."""

        metrics: list[TrainingMetric]

        def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            self.metrics = [metric for metric in read_log(path) if metric.optimizer_step <= state.global_step]
            self.write(state)
            self.started = time.monotonic() - (self.metrics[-1].wall_seconds if self.metrics else 0.0)

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            control.should_log |= state.global_step == state.max_steps  # the last steps have a line, too

        def on_evaluate(self, args: Any, state: Any, control: Any, metrics: dict[str, float], **_: Any) -> None:
            if self.metrics and self.metrics[-1].optimizer_step == state.global_step:
                self.metrics[-1] = self.metrics[-1].model_copy(update={"validation_loss": metrics["eval_loss"]})
                self.write(state)

        def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float], **_: Any) -> None:
            if "loss" not in logs:
                return
            for name, what in (("loss", "the loss"), ("grad_norm", "the gradient norm")):
                if not math.isfinite(logs.get(name, 0.0)):
                    step = state.global_step
                    rate = logs["learning_rate"]
                    raise DivergedError(f"{what} is {logs[name]}", step, rate, path.parent)
            metric = _measure(state, logs, self.metrics[-1:], time.monotonic() - self.started, seconds_per_token)
            self.metrics.append(metric)
            self.write(state)
            if on_log is not None:
                on_log(metric)

        def write(self, state: Any) -> None:
            if state.is_world_process_zero:
                write_whole(path, "".join(f"{metric.model_dump_json()}\n" for metric in self.metrics))

    return LogCallback()


def _measure(
    state: Any, logs: dict[str, float], former: list[TrainingMetric], seconds: float, seconds_per_token: float | None
) -> TrainingMetric:
    """Return a logging step's metrics; `former` is the line before."""
    import torch

    seconds = round(seconds, 3)
    tokens = state.num_input_tokens_seen - sum(each.token_count for each in former)
    passed = seconds - sum(each.wall_seconds for each in former)
    has_gpu = torch.cuda.is_available()
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return TrainingMetric(
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
        peak_memory_bytes=torch.cuda.max_memory_allocated() if has_gpu else usage.ru_maxrss * 1024,
        utilization=tokens * seconds_per_token / passed if seconds_per_token and passed > 0 else None,
    )
