"""The log of a training."""

import math
from types import SimpleNamespace
from typing import Any

import pytest

from carryover.tasks.sft import training_log
from carryover.tasks.sft.training_log import DivergedError, TrainingMetric, log_callback, read_log


def _metric(step, seconds=1.0):
    return TrainingMetric(
        optimizer_step=step, total_steps=30, epoch=0.5, loss=1.0, learning_rate=0.1, gradient_norm=None,
        token_count=100, wall_seconds=seconds,
    )  # fmt: skip


def _state(step):
    return SimpleNamespace(
        global_step=step,
        max_steps=30,
        epoch=step / 30,
        num_input_tokens_seen=step * 7,
        is_world_process_zero=True,
    )


def test_a_line_per_logging_step_is_written_and_told(tmp_path):
    told = []
    callback: Any = log_callback(tmp_path / "log.jsonl", told.append, seconds_per_token=1e-9)
    control = SimpleNamespace(should_log=False)
    callback.on_train_begin(None, _state(0), control)
    logs = {"loss": 2.0, "learning_rate": 0.1, "grad_norm": 0.5, "mean_token_accuracy": 0.75, "entropy": 1.5}
    callback.on_log(None, _state(10), control, logs=logs)
    callback.on_evaluate(None, _state(10), control, metrics={"eval_loss": 2.5})
    (metric,) = read_log(tmp_path / "log.jsonl")
    assert told == [metric.model_copy(update={"validation_loss": None})]
    assert (metric.validation_loss, metric.token_accuracy, metric.entropy) == (2.5, 0.75, 1.5)
    assert metric.peak_memory_bytes is not None
    assert metric.peak_memory_bytes > 10_000_000
    assert metric.utilization is None or metric.utilization > 0
    assert (metric.optimizer_step, metric.total_steps, metric.token_count) == (10, 30, 70)
    assert (metric.loss, metric.learning_rate, metric.gradient_norm) == (2.0, 0.1, 0.5)


def test_utilization_is_of_the_tokens_and_seconds_since_the_line_before(tmp_path, monkeypatch):
    clock = iter([100.0, 102.0, 106.0, 106.0])
    monkeypatch.setattr(training_log, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    callback: Any = log_callback(tmp_path / "log.jsonl", None, seconds_per_token=0.01)
    callback.on_train_begin(None, _state(0), None)
    for step in (10, 30, 30):
        callback.on_log(None, _state(step), None, logs={"loss": 2.0, "learning_rate": 0.1})
    lines = read_log(tmp_path / "log.jsonl")
    assert [line.wall_seconds for line in lines] == [2.0, 6.0, 6.0]
    assert [line.utilization for line in lines[:2]] == pytest.approx([70 * 0.01 / 2, 140 * 0.01 / 4])
    assert lines[2].utilization is None
    assert [line.epoch for line in lines] == pytest.approx([1 / 3, 1.0, 1.0])
    assert (lines[0].gradient_norm, lines[0].token_accuracy, lines[0].entropy) == (None, None, None)
    unknown: Any = log_callback(tmp_path / "unknown.jsonl", None)
    clock = iter([0.0, 1.0])
    unknown.on_train_begin(None, _state(0), None)
    unknown.on_log(None, _state(10), None, logs={"loss": 2.0, "learning_rate": 0.1})
    assert read_log(tmp_path / "unknown.jsonl")[0].utilization is None


def test_other_logs_and_other_processes_write_no_line(tmp_path):
    callback: Any = log_callback(tmp_path / "log.jsonl", None)
    callback.on_train_begin(None, _state(0), None)
    callback.on_log(None, _state(10), None, logs={"train_runtime": 1.0})
    callback.on_evaluate(None, _state(10), None, metrics={"eval_loss": 2.5})
    assert read_log(tmp_path / "log.jsonl") == []
    other = _state(10)
    other.is_world_process_zero = False
    callback.on_log(None, other, None, logs={"loss": 2.0, "learning_rate": 0.1})
    assert read_log(tmp_path / "log.jsonl") == []
    callback.on_evaluate(None, _state(20), None, metrics={"eval_loss": 2.5})  # of a step without a line
    assert callback.metrics[0].validation_loss is None


@pytest.mark.parametrize(
    ("logs", "what"),
    [
        ({"loss": math.nan, "grad_norm": 0.5}, "the loss is nan"),
        ({"loss": math.inf, "grad_norm": 0.5}, "the loss is inf"),
        ({"loss": 2.0, "grad_norm": math.nan}, "the gradient norm is nan"),
        ({"loss": 2.0, "grad_norm": math.inf}, "the gradient norm is inf"),
    ],
)
def test_non_finite_values_end_the_training_before_logging(tmp_path, logs, what):
    told = []
    callback: Any = log_callback(tmp_path / "model" / "log.jsonl", told.append)
    with pytest.raises(DivergedError) as caught:
        callback.on_log(None, _state(10), None, logs=logs | {"learning_rate": 0.1})
    assert str(caught.value) == (
        f"the training diverged: {what} at optimizer step 10 with learning rate 0.1; lower optimizer.learning_rate, "
        "lengthen its warm-up or lower optimizer.max_gradient_norm, and train in another folder or delete "
        f"{tmp_path / 'model'}, which keeps the checkpoints of these settings"
    )
    assert told == []
    assert not (tmp_path / "model").exists()


def test_the_last_step_is_logged_whatever_the_interval(tmp_path):
    callback: Any = log_callback(tmp_path / "log.jsonl", None)
    control = SimpleNamespace(should_log=False)
    callback.on_step_end(None, _state(29), control)
    assert not control.should_log
    callback.on_step_end(None, _state(30), control)
    assert control.should_log


def test_a_resumed_log_drops_later_lines_and_adds_its_time(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text("".join(f"{_metric(step, 5.0 * step).model_dump_json()}\n" for step in (10, 20)))
    callback: Any = log_callback(path, None)
    control = SimpleNamespace(should_log=False)
    callback.on_train_begin(None, _state(10), control)
    callback.on_log(None, _state(20), control, logs={"loss": 2.0, "learning_rate": 0.1})
    first, second = read_log(path)
    assert (first.optimizer_step, second.optimizer_step) == (10, 20)
    assert 50.0 <= second.wall_seconds < 60.0
