"""A training in a process of its own.

`python -m carryover.tasks.sft.train_process JOB.json` runs a job and logs its progress in the output folder. With
`--until-input-ends` it ends when its standard input does: the starter holds the other end, so a training never outlives
a killed starter to write into the folder that the next start takes up. A job for several GPUs is computed by as many
processes more, which `accelerate launch` starts with `--as-one-of-several`; this one holds the folder meanwhile.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from carryover.tasks.services.errors import UserError
from carryover.tasks.services.whole_files import write_whole
from carryover.tasks.sft.child_process import (
    POLL_SECONDS,
    USER_ERROR_CODE,
    Child,
    end_with_starter,
    run_child,
    training_environment,
)
from carryover.tasks.sft.folder import CHECKPOINTS, last_checkpoint
from carryover.tasks.sft.gpu_places import borrowed_gpus, visible_gpus
from carryover.tasks.sft.train import TrainedModel, TrainingJob, compute_here, read_trained, train
from carryover.tasks.sft.training_log import LOG_NAME, TrainingMetric, read_log

OUTPUT_NAME = "training_output.txt"
"""Output of the process, in the folder of the model."""
DESCRIPTION_NAME = "training_job.json"
REFUSAL_NAME = "training_refusal.txt"
"""The line of one of several processes for the user; their starter's exit code does not distinguish it from a crash."""
UNTIL_INPUT_ENDS = "--until-input-ends"
AS_ONE_OF_SEVERAL = "--as-one-of-several"
LAUNCH = ("--multi_gpu", "--num_machines=1", "--mixed_precision=no", "--dynamo_backend=no", "--main_process_port=0")
"""Settings in place of those of the user's own file; `trainer_settings` names what is shared between the GPUs."""


def train_in_process(
    job: TrainingJob,
    on_log: Callable[[TrainingMetric], None] | None = None,
    check: Callable[[], None] = lambda: None,
    poll_seconds: float = POLL_SECONDS,
) -> TrainedModel:
    """Run a job in a process, report its steps, return the model.

    The process ends when the caller is interrupted, or `check`, called at every look, raises. Several calls may run at
    once, from threads. A process that was killed is a `KilledTrainingError`, another failure a `UserError` with what
    it said last.
    """
    job.output.mkdir(parents=True, exist_ok=True)
    description = job.output / DESCRIPTION_NAME
    write_whole(description, job.model_dump_json())
    last_step = 0

    def tell() -> None:
        nonlocal last_step
        if on_log is None:
            return
        for metric in read_log(job.output / LOG_NAME):
            if metric.optimizer_step > last_step:
                last_step = metric.optimizer_step
                on_log(metric)

    with ExitStack() as stack:
        gpus = []
        if job.spec.is_for_gpu:
            gpus = visible_gpus(os.environ)
        if gpus:
            gpus = stack.enter_context(
                borrowed_gpus(
                    gpus, job.gpu_count, Path(tempfile.gettempdir()), check, trainings_per_gpu=job.trainings_per_gpu
                )
            )
        child = Child(
            title=f"training {job.spec.name} of {job.contract or 'the base'}",
            arguments=("-m", "carryover.tasks.sft.train_process", str(description), UNTIL_INPUT_ENDS),
            printed=job.output / OUTPUT_NAME,
            environment=training_environment(job.spec.cpu_threads, os.environ, gpus),
            ends_with_input=job.gpu_count > 1,  # several end by themselves: the folder is held until the last has
        )
        run_child(child, tell, check, poll_seconds)
    return read_trained(job.output)


def compute_in_several(job: TrainingJob) -> None:
    """Compute a job in one process per GPU, by `accelerate launch`.

    Raise `UserError` if one of them met a user error, `CalledProcessError` if one failed otherwise.
    """
    refusal = job.output / REFUSAL_NAME
    refusal.unlink(missing_ok=True)
    last_checkpoint(job.output / CHECKPOINTS)  # which removes torn ones, before several look for the last
    module = ["-m", "carryover.tasks.sft.train_process", str(job.output / DESCRIPTION_NAME)]
    launch = [sys.executable, "-m", "accelerate.commands.launch", *LAUNCH, f"--num_processes={job.gpu_count}"]
    ended = subprocess.run([*launch, *module, UNTIL_INPUT_ENDS, AS_ONE_OF_SEVERAL], check=False)
    if ended.returncode and refusal.exists():
        raise UserError(refusal.read_text(encoding="utf-8"))
    ended.check_returncode()


def main(arguments: list[str]) -> int:
    """Run a JSON file's job and return the exit code."""
    job = TrainingJob.model_validate_json(Path(arguments[0]).read_text(encoding="utf-8"))
    is_one_of_several = AS_ONE_OF_SEVERAL in arguments[1:]
    if UNTIL_INPUT_ENDS in arguments[1:] and (is_one_of_several or job.gpu_count == 1):
        end_with_starter()
    try:
        if is_one_of_several:
            compute_here(job)
        else:
            train(job, compute=None if job.gpu_count == 1 else compute_in_several)
    except UserError as error:
        if is_one_of_several:
            write_whole(job.output / REFUSAL_NAME, str(error))
        print(error, file=sys.stderr)
        return USER_ERROR_CODE
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
