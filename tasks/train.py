"""Stage 4: one fine-tuning."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from prefect import task

from storage.landing import LandingZone
from tasks.plans.models import model_folder
from tasks.plans.run import Run
from tasks.plans.spec import StudyPart
from tasks.prepare import read_training_data
from tasks.running.progress import Advance, progress_bar
from tasks.sft.card import CARD_NAME
from tasks.sft.train import TrainedModel, read_trained
from tasks.sft.train_process import TrainingJob, train_in_process
from tasks.sft.training_log import TrainingMetric
from tasks.traces.rows import Row
from tasks.traces.study_rows import TrainingMetricRow, TrainingRunRow


@task(task_run_name="{part.variant}-{contract}-{seed}")
def train_model(run: Run, part: StudyPart, contract: str, seed: int, tokenizer: Path | None) -> Path:
    """Train one model or adapter in a process of its own, land it with its loss curve, and return its folder.

    A finished training is kept, a killed one goes on from its last checkpoint.

    Raises:
        UserError: The training failed; the message holds what it said last.
    """
    data = read_training_data(run, part)
    output = model_folder(run, part, contract, seed)
    job = TrainingJob(
        spec=part.training,
        dataset=data.paths[contract],
        output=output,
        contract=contract,
        seed=seed,
        tokenizer=tokenizer if part.training.base == "scratch" else None,
        plan_digest=run.plan.digest,
    )
    if (output / CARD_NAME).exists():
        trained = read_trained(output)
    else:
        trained = _train_with_progress(job, f"{part.variant}, training {contract} seed {seed}")
    LandingZone(run.landing).write(_rows(run, part, data.dataset_id, trained), run.run_id)
    return output


def _train_with_progress(job: TrainingJob, label: str) -> TrainedModel:
    with ExitStack() as stack:
        bar: list[Advance] = []
        done = 0

        def show(metric: TrainingMetric) -> None:
            nonlocal done
            if not bar:  # the number of steps is known with the first of them
                bar.append(stack.enter_context(progress_bar(label, metric.total_steps, "steps")))
            bar[0](metric.optimizer_step - done)
            done = metric.optimizer_step

        return train_in_process(job, show)


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
