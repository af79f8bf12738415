"""Stage 4 as a flow: one model per contract and training seed."""

from collections.abc import Sequence

from prefect import flow

from carryover.flows.cli.messages import say
from carryover.flows.runners import interruptible, two_at_a_time
from carryover.flows.shown import name_run, shown_as
from carryover.storage.study.runs import open_run
from carryover.tasks.plans.overrides import Overrides
from carryover.tasks.plans.presets import PlanName
from carryover.tasks.plans.run import Limits, Run
from carryover.tasks.prepare import read_training_data
from carryover.tasks.provide_tokenizer import open_tokenizer
from carryover.tasks.train import PlannedTraining, note_training, plan_training, submit_training, unknown_sizes


@flow(name="train-models", flow_run_name=name_run, task_runner=two_at_a_time())
@shown_as("training")
def train_models(
    scale: PlanName = "laptop",
    overrides: Overrides = Overrides(),  # noqa: B008 - frozen
    limits: Limits = Limits(),  # noqa: B008 - frozen
    run_id: str | None = None,
) -> None:
    """Train one model per contract and training seed of a plan, two at a time.

    Args:
        scale: Name of the plan.
        overrides: Fields of the plan to change.
        limits: When to stop.
        run_id: Run to join; a new one without it.
    """
    with open_run("train_models", scale, overrides, limits, run_id) as run:
        for part in run.plan.parts:
            read_training_data(run, part)  # said before a tokenizer or a base is trained for hours
        for line in unknown_sizes(run.plan.parts):
            say(line)
        for part in run.plan.parts:
            tokenizer = open_tokenizer(run, part)
            if part.own_base is not None:
                _train(run, [plan_training(run, part, None, part.own_base.seed, tokenizer)])
            arms = [(contract, seed) for seed in part.training_seeds for contract in part.teacher.contracts]
            _train(run, [plan_training(run, part, contract, seed, tokenizer) for contract, seed in arms])


def _train(run: Run, trainings: Sequence[PlannedTraining]) -> None:
    futures = [submit_training(run, training) for training in trainings]
    with interruptible(run.run_id, futures):
        for training, future in zip(trainings, futures, strict=True):
            note_training(run, training, future.result())
