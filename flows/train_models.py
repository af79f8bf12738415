"""Stage 4 as a flow: one model per contract and training seed."""

from prefect import flow

from flows.cli.messages import say
from flows.runners import interruptible, two_at_a_time
from storage.runs import open_run
from tasks.plans.overrides import Overrides
from tasks.plans.presets import PlanName
from tasks.plans.run import Limits
from tasks.prepare import read_training_data
from tasks.provide_tokenizer import provide_tokenizer
from tasks.train import train_base, train_model, unknown_sizes


@flow(name="train-models", task_runner=two_at_a_time())
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
            tokenizer = provide_tokenizer(run, part)
            if part.own_base is not None:
                train_base(run, part, part.own_base, tokenizer)
            trainings = [
                train_model.submit(run, part, contract, seed, tokenizer)
                for seed in part.training_seeds
                for contract in part.teacher.contracts
            ]
            with interruptible(run.run_id, trainings):
                for training in trainings:
                    training.result()
