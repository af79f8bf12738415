"""A training in a process of its own, so that arms train side by side on one core each and a crash is one message.

`python -m carryover.tasks.sft.train_process JOB.json` runs a job and logs its progress in the output folder. With
`--until-input-ends` it ends when its standard input does: the starter holds the other end, so a training never outlives
a killed starter to write into the folder that the next start takes up.
"""

import fcntl
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from carryover.tasks.running.errors import UserError, name_write_remedy
from carryover.tasks.sft.spec import TrainingSpec
from carryover.tasks.sft.train import TrainedModel, TrainingJob, read_trained, train
from carryover.tasks.sft.training_log import LOG_NAME, TrainingMetric, read_log

OUTPUT_NAME = "training_output.txt"
"""What the process printed, in the folder of the model."""
LAST_LINES = 5
ROOM_BYTES = 1 << 20
"""A training that ended on a disk with less room than this is taken to have ended for want of it."""
POLL_SECONDS = 0.5
UNTIL_INPUT_ENDS = "--until-input-ends"
USER_ERROR_CODE = 2
"""Exit code for a problem that the user can mend, told in the last line."""
ORPHAN_CODE = 3
"""Exit code of a training whose starter is gone."""


class KilledTrainingError(UserError):
    """A training's process was killed, for want of memory say; the next one goes on from its last checkpoint."""


def train_in_process(
    job: TrainingJob,
    on_log: Callable[[TrainingMetric], None] | None = None,
    check: Callable[[], None] = lambda: None,
    poll_seconds: float = POLL_SECONDS,
) -> TrainedModel:
    """Run a job in a process of its own, tell of every logging step, and return the trained model.

    The process ends when the caller is interrupted, or `check`, called at every look, raises. Several calls may run at
    once, from threads.

    Raises:
        KilledTrainingError: The process was killed.
        UserError: The training failed; the message holds what it said last.
    """
    job.output.mkdir(parents=True, exist_ok=True)
    description, printed = job.output / "training_job.json", job.output / OUTPUT_NAME
    description.write_text(job.model_dump_json(), encoding="utf-8")
    told = 0

    def tell() -> None:
        nonlocal told
        for metric in read_log(job.output / LOG_NAME) if on_log else ():
            if metric.optimizer_step > told:
                told = metric.optimizer_step
                on_log(metric)

    with ExitStack() as stack:
        gpus, gpu = visible_gpus(os.environ) if job.spec.is_for_gpu else [], None
        if gpus:
            gpu = stack.enter_context(borrowed_gpu(gpus, Path(tempfile.gettempdir()), check))
        output = stack.enter_context(printed.open("ab"))
        process = subprocess.Popen(
            [sys.executable, "-m", "carryover.tasks.sft.train_process", str(description), UNTIL_INPUT_ENDS],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=training_environment(job.spec, os.environ, gpu),
        )
        try:
            while process.poll() is None:
                check()
                time.sleep(poll_seconds)
                tell()
        finally:
            process.kill()
            process.communicate()
    tell()
    if process.returncode:
        is_killed = process.returncode == -signal.SIGKILL
        raise (KilledTrainingError if is_killed else UserError)(describe_failure(job, process.returncode, printed))
    return read_trained(job.output)


@contextmanager
def borrowed_gpu(gpus: Sequence[str], folder: Path, check: Callable[[], None]) -> Iterator[str]:
    """Wait for a free GPU and keep it for the block, so that trainings run side by side on one each.

    A lock file per GPU in `folder` decides, so that runs in other processes of the machine count too.
    """
    folder.mkdir(parents=True, exist_ok=True)
    while True:
        for gpu in gpus:
            with (folder / f"carryover-gpu-{gpu}.lock").open("a") as lock, suppress(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                yield gpu
                return
        check()
        time.sleep(POLL_SECONDS)


def visible_gpus(variables: Mapping[str, str]) -> list[str]:
    """Return the GPUs that this process may use, by number or identifier."""
    if (named := variables.get("CUDA_VISIBLE_DEVICES")) is not None:
        return [each.strip() for each in named.split(",") if each.strip()]
    import torch

    return [str(number) for number in range(torch.cuda.device_count())]


def training_environment(spec: TrainingSpec, variables: Mapping[str, str], gpu: str | None) -> dict[str, str]:
    """Return the environment of a training: its threads and its one GPU, if any, and that TRL reports nothing."""
    own = {"OMP_NUM_THREADS": str(spec.cpu_threads), "CUDA_VISIBLE_DEVICES": gpu or "", "DO_NOT_TRACK": "1"}
    return {**variables, **own}


def describe_failure(job: TrainingJob, code: int, printed: Path) -> str:
    """Return in a line why a training's process ended with a code, from what it printed."""
    lines = [line for line in printed.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    if code == USER_ERROR_CODE and lines:
        return lines[-1]
    probe = job.output / f"{OUTPUT_NAME}.unfinished"
    try:
        probe.write_bytes(bytes(ROOM_BYTES))  # on a full disk even what it said last is cut off
    except OSError as error:
        return f"cannot write {job.output}: {error.strerror}; {name_write_remedy(error)} and start again"
    finally:
        probe.unlink(missing_ok=True)
    reason = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
    last = " | ".join(lines[-LAST_LINES:]) or "no output"
    return (
        f"training {job.spec.name} of {job.contract or 'the base'} failed ({reason}): {last}; all of it is in {printed}"
    )


def main(arguments: list[str]) -> int:
    """Run the job described in a JSON file and return the exit code."""

    def end_with_input() -> None:
        while os.read(sys.stdin.fileno(), 1024):
            pass
        os._exit(ORPHAN_CODE)

    if UNTIL_INPUT_ENDS in arguments[1:]:
        threading.Thread(target=end_with_input, daemon=True).start()
    try:
        train(TrainingJob.model_validate_json(Path(arguments[0]).read_text(encoding="utf-8")))
    except UserError as error:
        print(error, file=sys.stderr)
        return USER_ERROR_CODE
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
