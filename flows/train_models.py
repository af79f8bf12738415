"""Stage 4 as a flow: one model per contract and training seed."""

from collections.abc import Sequence

from prefect import flow

from carryover.flows.cli.messages import say
from carryover.flows.runners import interruptible, stage_of_plan, two_at_a_time
from carryover.flows.shown import name_run, shown_as
from carryover.tasks.plans.run import Run
from carryover.tasks.prepare import read_training_data
from carryover.tasks.provide_tokenizer import open_tokenizer
from carryover.tasks.train import PlannedTraining, note_training, plan_training, submit_training, unknown_sizes


@flow(name="train-models", flow_run_name=name_run, task_runner=two_at_a_time())
@shown_as("training")
@stage_of_plan()
def train_models(run: Run) -> None:
    """Train one model per contract and training seed of a plan, two at a time."""
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
