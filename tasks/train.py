"""Stage 4: one fine-tuning."""

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from prefect import task
from prefect.futures import PrefectFuture

from carryover.storage.zone.landing import LandingZone
from carryover.storage.zone.objects import KeptFolder, has_objects, keep_folder, open_folder
from carryover.tasks.plans.identity import Stage, stage_digest
from carryover.tasks.plans.models import training_name
from carryover.tasks.plans.run import Run
from carryover.tasks.plans.shards import tokenizer_identity
from carryover.tasks.plans.study_plan import StudyPart
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.frozen_model import FrozenModel
from carryover.tasks.services.hub import expanded
from carryover.tasks.services.limits import check_uninterrupted
from carryover.tasks.services.progress import Advance
from carryover.tasks.services.whole_files import digest_of_file
from carryover.tasks.sft.card import CARD_NAME
from carryover.tasks.sft.folder import base_identity, clear
from carryover.tasks.sft.machine import MachineNeed, training_need
from carryover.tasks.sft.resources import unknown_size
from carryover.tasks.sft.train import TrainedModel, TrainingJob, read_trained
from carryover.tasks.sft.train_process import train_in_process
from carryover.tasks.sft.training_log import TrainingMetric
from carryover.tasks.stages.caching import StageIdentity, in_run, refreshing_once
from carryover.tasks.stages.progress import shown_progress
from carryover.tasks.stages.retrying import RETRIES
from carryover.tasks.stages.stage_results import note_stage, stage_result
from carryover.tasks.stages.training_data import read_training_data, write_base_corpus
from carryover.tasks.traces.training_rows import TrainingMetricRow, TrainingRunRow


class TrainedFolder(KeptFolder):
    """The folder of a finished training: a model or an adapter."""

    digest: str
    """SHA-256 over its tensors."""


class PlannedTraining(FrozenModel):
    """A training of a plan."""

    name: str
    """Name in the plan; its folder adds the identity, which plans share."""
    identity: str
    variant: str
    base: str
    dataset_id: str
    job: TrainingJob

    @property
    def is_finished(self) -> bool:
        """Whether its model lies in its folder."""
        return (self.job.output / CARD_NAME).exists()

    @property
    def need(self) -> MachineNeed:
        """Hardware that it needs."""
        return training_need(self.job.spec, self.job.gpu_count)


def plan_training(
    run: Run, part: StudyPart, contract: str | None, seed: int, tokenizer: Path | None
) -> PlannedTraining:
    """Return a part's training, or that of its base without a contract.

    Raise `UserError` without data or base.
    """
    name = training_name(part, contract, seed)
    base = None
    if contract is None:
        assert part.own_base is not None
        spec = part.own_base.training
        learned = tokenizer
        dataset = write_base_corpus(run, part, part.own_base)
        dataset_id = data_digest = digest_of_file(dataset)
    else:
        data = read_training_data(run, part)
        spec = part.training
        dataset = data.paths[contract]
        dataset_id = data.dataset_id
        data_digest = data.digests[contract]
        learned = None
        if spec.base == "scratch":
            learned = tokenizer
        if part.own_base is not None:
            base = find_trained(run, training_name(part, None, part.own_base.seed))
    tokens = None if learned is None else tokenizer_identity(part, learned)
    start = base and base.digest
    if spec.base_model is not None:
        start = base_identity(spec.base_model, spec.base_revision)
    unnamed = {"base_model": None, "base_revision": None, "base_title": None}  # a base counts by its content
    settings = spec.model_copy(update=unnamed)
    identity = stage_digest(Stage.TRAINING, settings, contract, seed, data_digest, tokens, start)
    job = TrainingJob(
        spec=spec,
        dataset=dataset,
        output=run.folders.models / f"{name}-{identity}",
        contract=contract,
        seed=seed,
        base_model=None if base is None else str(base.path),
        tokenizer=learned,
        plan_digest=run.plan.digest,
        gpu_count=run.limits.gpus_per_training if spec.is_for_gpu else 1,
        trainings_per_gpu=run.limits.trainings_per_gpu,
    )
    return PlannedTraining(
        name=name, identity=identity, variant=part.variant, base=part.base, dataset_id=dataset_id, job=job
    )


@task(
    task_run_name="{training.name}",
    cache_policy=StageIdentity(identify=lambda run, training: training.identity),
    **RETRIES,
)
def train_model(run: Run, training: PlannedTraining) -> TrainedFolder:
    """Train one model in a process and land it with its losses.

    A finished training is kept, a killed one goes on from its last checkpoint. Raise `UserError` for one that failed,
    with its last words, and `InterruptedRunError` where the run is interrupted.
    """
    output = training.job.output
    if Stage.TRAINING in run.limits.refresh:
        clear(output, partial(check_uninterrupted, run.run_id))
    trained = read_trained(output) if training.is_finished else _train_with_progress(run, training)
    ids: dict[str, Any] = {"run_id": run.run_id, "training_run_id": trained.path.name}
    shared = set(TrainingRunRow.model_fields) & set(TrainedModel.model_fields)
    row = TrainingRunRow(
        **trained.model_dump(include=shared),
        **ids,
        dataset_id=training.dataset_id,
        variant=training.variant,
        base=training.base,
        training_seed=trained.seed,
        output_path=str(trained.path),
        settings_json=trained.spec.model_dump_json(),
    )
    logged = (metric.model_dump(exclude={"total_steps"}) for metric in trained.metrics)
    metrics = [TrainingMetricRow(**ids, **metric) for metric in logged]
    LandingZone(run.landing).write({"training_runs": [row], "training_metrics": metrics}, run.run_id)
    return TrainedFolder(**dict(keep_folder(run.folders, output)), digest=trained.model_digest)


def submit_training(run: Run, training: PlannedTraining) -> PrefectFuture[TrainedFolder]:
    """Submit a training, cached where its model still exists.

    It exists here, or with the rows, where workers share those.
    """
    run = refreshing_once(run, Stage.TRAINING, training.identity)
    is_there = training.is_finished or run.folders.is_shared
    train = in_run(train_model, run, Stage.TRAINING, is_there=is_there, contract=training.job.contract)
    return train.submit(run, training)


def note_training(run: Run, training: PlannedTraining, trained: TrainedFolder) -> None:
    """Record a plan's trained model; train again if its files are gone."""
    if not has_objects(run.folders, trained.files.values()):
        train = in_run(train_model, run, Stage.TRAINING, is_there=False, contract=training.job.contract)
        trained = train(run, training)
    note_stage(run, Stage.TRAINING, training.name, training.identity, trained)


def find_trained(run: Run, name: str, stage: Stage = Stage.TRAINING) -> TrainedFolder:
    """Return a plan's model by the name of its stage.

    Raise `UserError` if it is not trained yet.
    """
    noted = stage_result(run, stage, name)
    if noted is None:
        way_out = "run `carryover stage train-models` first"
        if stage is Stage.REINFORCEMENT:
            way_out = "run `carryover stage reinforce-models` first"
        raise UserError(f"plan {run.plan.name} has no trained model {name}; {way_out}")
    trained = TrainedFolder.model_validate_json(noted)
    return trained.model_copy(update={"path": open_folder(run.folders, trained)})


def unknown_sizes(parts: Sequence[StudyPart]) -> list[str]:
    """Return a warning for every base of unknown size.

    Its disk and memory check is skipped.

    Raise `UserError` for a base that is missing, gated or out of reach.
    """
    trainings = {part.training: part.training.base_model for part in parts if part.own_base is None}
    lines = (unknown_size(training, expanded(source)) for training, source in trainings.items() if source is not None)
    return [line for line in lines if line is not None]


def _train_with_progress(run: Run, training: PlannedTraining) -> TrainedModel:
    job = training.job
    whose = training.job.contract
    what = f"the {training.base} base" if whose is None else f"{whose} seed {training.job.seed}"
    label = f"{training.variant}, training {what}"
    with ExitStack() as stack:
        bar: list[Advance] = []
        done = 0

        def show(metric: TrainingMetric) -> None:
            nonlocal done
            if not bar:  # the number of steps is known with the first of them
                bar.append(stack.enter_context(shown_progress(label, metric.total_steps, "steps")))
            bar[0](metric.optimizer_step - done, describe(metric))
            done = metric.optimizer_step

        return train_in_process(job, show, partial(check_uninterrupted, run.run_id))


def describe(metric: TrainingMetric) -> str:
    """Describe a logging step, for the end of a progress bar."""
    gradient = "" if metric.gradient_norm is None else f", gradient {metric.gradient_norm:.2f}"
    seen = f"{metric.token_count:,} tokens in {metric.wall_seconds:.0f} s"
    return f"loss {metric.loss:.3f}, rate {metric.learning_rate:.1e}{gradient}, {seen}"
