"""A training in a process of its own: progress, failure, and a kill in the middle."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from carryover.tasks.services.errors import UserError
from carryover.tasks.sft import train_process
from carryover.tasks.sft.child_process import Child, KilledTrainingError, training_environment
from carryover.tasks.sft.folder import CHECKPOINTS
from carryover.tasks.sft.train import TrainingJob, train
from carryover.tasks.sft.train_process import train_in_process
from carryover.tasks.sft.training_log import TrainingMetric, read_log
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
    assert child == Child(
        title="training smoke of stateless",
        arguments=(
            "-m", "carryover.tasks.sft.train_process", str(tmp_path / "training_job.json"), "--until-input-ends",
        ),
        printed=tmp_path / "training_output.txt",
        environment=training_environment(SPEC.cpu_threads, os.environ, []),
        ends_with_input=gpu_count > 1,
    )  # fmt: skip
    assert TrainingJob.model_validate_json((tmp_path / "training_job.json").read_text()) == job


def test_a_training_on_gpus_is_shown_those_that_it_borrows(tmp_path, monkeypatch):
    children = []
    monkeypatch.setattr(train_process, "run_child", lambda child, *_: children.append(child))
    monkeypatch.setattr(train_process, "read_trained", lambda folder: folder)
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,7,9")
    spec = SPEC.model_copy(update={"device": "gpu"})
    job = TrainingJob(
        spec=spec, dataset=tmp_path, output=tmp_path / "base", contract=None, seed=3, gpu_count=2, trainings_per_gpu=2
    )  # fmt: skip
    assert train_in_process(job) == tmp_path / "base"
    (child,) = children
    assert child.title == "training smoke of the base"
    assert child.environment["CUDA_VISIBLE_DEVICES"] == "4,7"
    assert (tmp_path / "carryover-gpu-4-0-of-2.lock").exists()


def test_each_step_is_told_once(tmp_path, monkeypatch):
    told = []

    def run(_child, look, *_others):
        look()
        for lines in ((5,), (5, 10), (5, 10)):
            text = "".join(f"{make_metric(step).model_dump_json()}\n" for step in lines)
            (tmp_path / "training_log.jsonl").write_text(text)
            look()

    monkeypatch.setattr(train_process, "run_child", run)
    monkeypatch.setattr(train_process, "read_trained", lambda folder: folder)
    job = TrainingJob(spec=SPEC, dataset=tmp_path, output=tmp_path, contract="stateless", seed=3)
    train_in_process(job, told.append)
    assert [metric.optimizer_step for metric in told] == [5, 10]
    train_in_process(job)


def make_metric(step):
    return TrainingMetric(
        optimizer_step=step, total_steps=30, epoch=0.5, loss=1.0, learning_rate=0.1, gradient_norm=None,
        token_count=100, wall_seconds=1.0,
    )  # fmt: skip


def test_several_processes_are_launched_by_accelerate_and_one_tells_their_refusal(tmp_path, monkeypatch):
    commands = []
    returncode = 0

    def launch(command, *, check):
        commands.append(command)
        assert not check
        assert not (tmp_path / "training_refusal.txt").exists()
        if returncode == 2:
            (tmp_path / "training_refusal.txt").write_text("no such model; name another")
        return subprocess.CompletedProcess(command, returncode)

    monkeypatch.setattr(subprocess, "run", launch)
    job = TrainingJob(spec=SPEC, dataset=tmp_path, output=tmp_path, contract="stateless", seed=3, gpu_count=2)
    train_process.compute_in_several(job)
    assert commands == [
        [
            sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu", "--num_machines=1",
            "--mixed_precision=no", "--dynamo_backend=no", "--main_process_port=0", "--num_processes=2",
            "-m", "carryover.tasks.sft.train_process", str(tmp_path / "training_job.json"),
            "--until-input-ends", "--as-one-of-several",
        ]
    ]  # fmt: skip
    returncode = 2
    with pytest.raises(UserError, match=r"^no such model; name another$"):
        train_process.compute_in_several(job)
    returncode = 1
    with pytest.raises(subprocess.CalledProcessError):
        train_process.compute_in_several(job)


@pytest.fixture
def played(tmp_path, monkeypatch):
    """What the process of a job calls, in order; the first raises where the folder says so."""
    calls = []

    def note(name):
        def call(job, compute=None):
            calls.append((name, compute))
            if (job.output / "refused").exists():
                raise UserError("no such model; name another")

        return call

    monkeypatch.setattr(train_process, "end_with_starter", lambda: calls.append("ends with starter"))
    monkeypatch.setattr(train_process, "compute_here", note("compute"))
    monkeypatch.setattr(train_process, "train", note("train"))
    return calls


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ((1,), [("train", None)]),
        ((1, "--until-input-ends"), ["ends with starter", ("train", None)]),
        ((2, "--until-input-ends"), [("train", train_process.compute_in_several)]),
        ((2, "--until-input-ends", "--as-one-of-several"), ["ends with starter", ("compute", None)]),
    ],
)
def test_a_process_plays_its_part_of_a_job(tmp_path, capsys, played, asked, expected):
    gpu_count, *flags = asked
    job = TrainingJob(spec=SPEC, dataset=tmp_path, output=tmp_path, contract="stateless", seed=3, gpu_count=gpu_count)
    (tmp_path / "job.json").write_text(job.model_dump_json())
    arguments = [str(tmp_path / "job.json"), *flags]
    assert train_process.main(arguments) == 0
    assert played == expected
    (tmp_path / "refused").touch()
    assert train_process.main(arguments) == 2
    assert capsys.readouterr().err == "no such model; name another\n"
    refusal = tmp_path / "training_refusal.txt"
    assert refusal.exists() == ("--as-one-of-several" in flags)
    if refusal.exists():
        assert refusal.read_text() == "no such model; name another"


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
