"""A training in a process of its own: progress, failure, and a kill in the middle."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from carryover.tasks.services.errors import UserError
from carryover.tasks.sft import train_process
from carryover.tasks.sft.child_process import Child, KilledTrainingError
from carryover.tasks.sft.folder import CHECKPOINTS
from carryover.tasks.sft.train import TrainingJob, train
from carryover.tasks.sft.train_process import (
    train_in_process,
)
from carryover.tasks.sft.training_log import read_log
from carryover.tasks.sft.training_spec import TRAINING, BatchSpec, TokenizerSpec
from tests.tasks.sft.training import save_taking_conversations

# 30 conversations make some 6 batches of 400 tokens, so checkpoints lie within passes
SPEC = TRAINING["smoke"].model_copy(
    update={
        "tokenizer": TokenizerSpec(vocabulary_size=300),
        "batch": BatchSpec(max_length=512, packing=False, tokens=400, accumulation=1),
        "epochs": 100.0,
        "max_steps": 60,
        "logging_steps": 5,
        "save_steps": 15,
    }
)

DYING_TRAINING = """
import functools
import os
import signal
import sys

from carryover.tasks.sft import train_process


def die(metric):
    if metric.optimizer_step > int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)


train_process.train = functools.partial(train_process.train, on_log=die)
sys.exit(train_process.main([sys.argv[1]]))
"""


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    """A training of seconds."""
    root = tmp_path_factory.mktemp("process")
    assert SPEC.tokenizer is not None
    save_taking_conversations(30, root, SPEC.tokenizer)
    return TrainingJob(
        spec=SPEC, dataset=root / "data.jsonl", output=root / "unbroken", contract="stateless", seed=3,
        tokenizer=root / "tokenizer",
    )  # fmt: skip


class _StartedError(Exception):
    """Instead of a process."""


@pytest.mark.parametrize("gpu_count", [1, 2])
def test_processes_of_several_gpus_end_by_themselves(tmp_path, monkeypatch, gpu_count):
    """The folder is held until the last one has ended."""
    children = []

    def start(child: Child, *_others: object) -> None:
        children.append(child)
        raise _StartedError

    monkeypatch.setattr(train_process, "run_child", start)
    job = TrainingJob(
        spec=SPEC, dataset=tmp_path, output=tmp_path, contract="stateless", seed=3, gpu_count=gpu_count
    )  # fmt: skip
    with pytest.raises(_StartedError):
        train_in_process(job)
    (child,) = children
    assert child.ends_with_input == (gpu_count > 1)


def _kill_after_checkpoint(job: TrainingJob, step: int) -> None:
    """Run the job as a real process that dies by SIGKILL at the first logging step behind a checkpoint."""
    job.output.mkdir()
    (job.output / "job.json").write_text(job.model_dump_json())
    command = [sys.executable, "-c", DYING_TRAINING, str(job.output / "job.json"), str(step)]
    ended = subprocess.run(command, stderr=subprocess.DEVNULL, check=False)
    assert ended.returncode == -signal.SIGKILL


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_killed_training_resumes_to_the_unbroken_weights(job):
    unbroken = train(job)
    broken = job.model_copy(update={"output": job.output.with_name("broken")})
    _kill_after_checkpoint(broken, step=30)
    checkpoints = [int(path.name.rpartition("-")[2]) for path in (broken.output / CHECKPOINTS).glob("checkpoint-*")]
    assert max(checkpoints) == 30
    told = []
    resumed = train_in_process(broken, told.append)
    assert resumed.model_digest == unbroken.model_digest
    assert (resumed.token_count, resumed.step_count) == (unbroken.token_count, 60)
    curve = [(metric.optimizer_step, metric.loss, metric.learning_rate) for metric in unbroken.metrics]
    assert [(metric.optimizer_step, metric.loss, metric.learning_rate) for metric in resumed.metrics] == curve
    assert [metric.optimizer_step for metric in told] == [metric.optimizer_step for metric in resumed.metrics]


def test_a_user_error_is_its_own_line(job, tmp_path):
    missing = job.model_copy(update={"dataset": tmp_path / "nothing.jsonl", "output": tmp_path / "model"})
    with pytest.raises(UserError, match=r"^no training data at .*nothing.jsonl; prepare the dataset first$"):
        train_in_process(missing)


def test_a_training_ends_where_its_caller_s_check_raises(job, tmp_path):
    def check():
        if _processes_with(str(tmp_path / "model")):  # the system tells a new process's arguments a moment later
            raise UserError("interrupted")

    with pytest.raises(UserError, match=r"^interrupted$"):
        train_in_process(job.model_copy(update={"output": tmp_path / "model"}), check=check)
    assert _processes_with(str(tmp_path / "model")) == []


def test_a_killed_training_is_told_apart(job, tmp_path):
    def kill():
        for process in _processes_with(str(tmp_path / "model")):
            os.kill(process, signal.SIGKILL)

    with pytest.raises(KilledTrainingError, match=r"training smoke of stateless failed \(killed by signal 9\): "):
        train_in_process(job.model_copy(update={"output": tmp_path / "model"}), check=kill)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_crash_reports_the_last_lines_and_the_file(job, tmp_path):
    broken = job.model_copy(update={"tokenizer": tmp_path / "tokenizer", "output": tmp_path / "model"})
    (tmp_path / "tokenizer").mkdir()
    for path in job.tokenizer.iterdir():
        (tmp_path / "tokenizer" / path.name).write_bytes(path.read_bytes())
    (tmp_path / "tokenizer" / "chat_template.jinja").unlink()
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "checkpoints").write_text("a file where the checkpoints belong")
    with pytest.raises(UserError, match=r"training smoke of stateless failed \(exit code 1\): .*training_output.txt$"):
        train_in_process(broken)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_training_ends_with_its_starter(job, tmp_path):
    endless = job.model_copy(
        update={"output": tmp_path / "model", "spec": SPEC.model_copy(update={"max_steps": 10**6})}
    )
    (tmp_path / "job.json").write_text(endless.model_dump_json())
    code = (
        "import sys\nfrom pathlib import Path\n"
        "from carryover.tasks.sft.train_process import TrainingJob, train_in_process\n"
        "train_in_process(TrainingJob.model_validate_json(Path(sys.argv[1]).read_text()))"
    )
    starter = subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "job.json")])
    log, deadline = endless.output / "training_log.jsonl", time.monotonic() + 240
    while not read_log(log):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    (training,) = _processes_with(str(endless.output))
    starter.kill()
    starter.wait()
    while training in _processes_with(str(endless.output)):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _processes_with(argument: str) -> list[int]:
    """Return the processes that have a folder, or something in it, among their arguments."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if argument in path.read_text(errors="replace"):
                found.append(int(path.parent.name))
    return found
