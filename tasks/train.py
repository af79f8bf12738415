"""Stage 4: one fine-tuning."""

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from prefect import task

from carryover.storage.zone.landing import LandingZone
from carryover.tasks.datasets.conversations import digest_of_file
from carryover.tasks.datasets.plain_corpus import write_plain_corpus
from carryover.tasks.plans.models import model_folder, own_base_folder
from carryover.tasks.plans.run import Run
from carryover.tasks.plans.spec import OwnBaseSpec, StudyPart
from carryover.tasks.prepare import read_training_data
from carryover.tasks.running.errors import UserError
from carryover.tasks.running.folders import HOME_VARIABLE
from carryover.tasks.running.interruption import check_uninterrupted
from carryover.tasks.running.progress import Advance, progress_bar
from carryover.tasks.sft.card import CARD_NAME
from carryover.tasks.sft.hub import expanded
from carryover.tasks.sft.room import unknown_size
from carryover.tasks.sft.train import TrainedModel, read_trained
from carryover.tasks.sft.train_process import TrainingJob, train_in_process
from carryover.tasks.sft.training_log import TrainingMetric
from carryover.tasks.traces.rows import Row
from carryover.tasks.traces.study_rows import TrainingMetricRow, TrainingRunRow


@task(task_run_name="{part.variant}-{contract}-{seed}")
def train_model(run: Run, part: StudyPart, contract: str, seed: int, tokenizer: Path | None) -> Path:
    """Train one model or adapter in a process of its own, land it with its loss curve, and return its folder.

    A finished training is kept, a killed one goes on from its last checkpoint.

    Raises:
        UserError: The training failed, and the message holds what it said last; or the folder holds a training on other
            data than the plan's.
        InterruptedRunError: The run is interrupted; the next start goes on from the last checkpoint.
    """
    data = read_training_data(run, part)
    output = model_folder(run, part, contract, seed)
    job = TrainingJob(
        spec=part.training,
        dataset=data.paths[contract],
        output=output,
        contract=contract,
        seed=seed,
        base_model=None if part.own_base is None else str(own_base_folder(run, part)),
        tokenizer=tokenizer if part.training.base == "scratch" else None,
        plan_digest=run.plan.digest,
    )
    trained = _finish(run, job, f"{part.variant}, training {contract} seed {seed}")
    LandingZone(run.landing).write(_rows(run, part, data.dataset_id, trained), run.run_id)
    return output


@task(task_run_name="{part.variant}-{part.base}-base")
def train_base(run: Run, part: StudyPart, own_base: OwnBaseSpec, tokenizer: Path) -> Path:
    """Train the base that a part's adapters sit on, land it, and return its folder; a finished one is kept.

    Raises:
        UserError: The training failed, and the message holds what it said last; or the folder holds a training on other
            data than the plan's.
    """
    output = own_base_folder(run, part)
    corpus = write_base_corpus(run, part, own_base)
    job = TrainingJob(
        spec=own_base.training,
        dataset=corpus,
        output=output,
        contract=None,
        seed=own_base.seed,
        tokenizer=tokenizer,
        plan_digest=run.plan.digest,
    )
    trained = _finish(run, job, f"{part.variant}, training the {part.base} base")
    LandingZone(run.landing).write(_rows(run, part, digest_of_file(corpus), trained), run.run_id)
    return output


def unknown_sizes(parts: Sequence[StudyPart]) -> list[str]:
    """Return a line for every base whose size nobody tells, so that its training's room is not checked.

    Raises:
        UserError: A base is missing, gated or out of reach.
    """
    trainings = {part.training: part.training.base_model for part in parts if part.own_base is None}
    lines = (unknown_size(training, expanded(source)) for training, source in trainings.items() if source is not None)
    return [line for line in lines if line is not None]


def write_base_corpus(run: Run, part: StudyPart, own_base: OwnBaseSpec) -> Path:
    """Write the conversations of a base and return their file; equal plans give equal bytes."""
    path = base_corpus_file(run, part)
    if own_base.instances is not None:
        write_plain_corpus(path, own_base.instances.bucket, own_base.instances.seeds)
    else:
        data = read_training_data(run, part)
        path.write_bytes(b"".join(data.paths[contract].read_bytes() for contract in sorted(data.paths)))
    return path


def base_corpus_file(run: Run, part: StudyPart) -> Path:
    """Return where the conversations of a part's own base are written."""
    return run.places.datasets / f"{run.plan.digest}-{part.variant}-{part.base}-base.jsonl"


def _finish(run: Run, job: TrainingJob, label: str) -> TrainedModel:
    """Train, or read what is trained already; what another dataset gave is neither taken nor gone on with."""
    if (job.output / CARD_NAME).exists():
        trained = read_trained(job.output)
        if trained.dataset_digest != digest_of_file(job.dataset):
            raise UserError(
                f"{job.output} holds a model of other training data than {job.dataset}, and its episodes may have "
                f"landed; start in another data folder (name it with {HOME_VARIABLE})"
            )
        return trained
    return _train_with_progress(run, job, label)


def _train_with_progress(run: Run, job: TrainingJob, label: str) -> TrainedModel:
    with ExitStack() as stack:
        bar: list[Advance] = []
        done = 0

        def show(metric: TrainingMetric) -> None:
            nonlocal done
            if not bar:  # the number of steps is known with the first of them
                bar.append(stack.enter_context(progress_bar(label, metric.total_steps, "steps")))
            bar[0](metric.optimizer_step - done, describe(metric))
            done = metric.optimizer_step

        return train_in_process(job, show, partial(check_uninterrupted, run.run_id))


def describe(metric: TrainingMetric) -> str:
    """Return what a logging step saw, for the end of a progress bar."""
    gradient = "" if metric.gradient_norm is None else f", gradient {metric.gradient_norm:.2f}"
    seen = f"{metric.token_count:,} tokens in {metric.wall_seconds:.0f} s"
    return f"loss {metric.loss:.3f}, rate {metric.learning_rate:.1e}{gradient}, {seen}"


def _rows(run: Run, part: StudyPart, dataset_id: str, trained: TrainedModel) -> dict[str, Sequence[Row]]:
    training_run_id = trained.path.name
    training = TrainingRunRow(
        run_id=run.run_id,
        training_run_id=training_run_id,
        dataset_id=dataset_id,
        variant=part.variant,
        contract=trained.contract,
        base=part.base,
        training_seed=trained.seed,
        base_model=trained.base_model,
        model_digest=trained.model_digest,
        output_path=str(trained.path),
        parameter_count=trained.parameter_count,
        trained_parameter_count=trained.trained_parameter_count,
        token_count=trained.token_count,
        step_count=trained.step_count,
        final_loss=trained.final_loss,
        settings_json=trained.spec.model_dump_json(),
        device=trained.device,
        attention=trained.attention,
        wall_seconds=trained.wall_seconds,
        started_at=trained.started_at,
    )
    metrics = [
        TrainingMetricRow(
            run_id=run.run_id, training_run_id=training_run_id, **metric.model_dump(exclude={"total_steps"})
        )
        for metric in trained.metrics
    ]
    return {"training_runs": [training], "training_metrics": metrics}
