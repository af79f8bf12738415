"""Stage 3 as a flow: data checks on the teacher traces, and one dataset per contract."""

from prefect import flow

from carryover.flows.shown import name_run, shown_as
from carryover.storage.study.runs import open_run
from carryover.tasks.plans.overrides import Overrides
from carryover.tasks.plans.presets import PlanName
from carryover.tasks.plans.run import Limits
from carryover.tasks.prepare import provide_training_data
from carryover.tasks.provide_tokenizer import open_tokenizer


@flow(name="prepare-training", flow_run_name=name_run)
@shown_as("data")
def prepare_training(
    scale: PlanName = "laptop",
    overrides: Overrides = Overrides(),  # noqa: B008 - frozen
    limits: Limits = Limits(),  # noqa: B008 - frozen
    run_id: str | None = None,
) -> None:
    """Check the teacher traces of a plan and prepare one dataset per contract.

    Args:
        scale: Name of the plan.
        overrides: Fields of the plan to change.
        limits: When to stop.
        run_id: Run to join; a new one without it.
    """
    with open_run("prepare_training", scale, overrides, limits, run_id) as run:
        for part in run.plan.parts:
            provide_training_data(run, part, open_tokenizer(run, part))
