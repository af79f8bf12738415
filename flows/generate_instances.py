"""Stage 1 as a flow: sample, validate and land the instance sets of a plan."""

from prefect import flow

from carryover.flows.shown import name_run, shown_as
from carryover.storage.study.runs import open_run
from carryover.tasks.caching import in_run
from carryover.tasks.generate import generate_instance_set
from carryover.tasks.plans.identity import Stage
from carryover.tasks.plans.overrides import Overrides
from carryover.tasks.plans.presets import PlanName
from carryover.tasks.plans.run import Limits


@flow(name="generate-instances", flow_run_name=name_run)
@shown_as("instances")
def generate_instances(
    scale: PlanName = "laptop",
    overrides: Overrides = Overrides(),  # noqa: B008 - frozen
    limits: Limits = Limits(),  # noqa: B008 - frozen
    run_id: str | None = None,
) -> None:
    """Sample, validate and land the instance sets of a plan.

    Args:
        scale: Name of the plan.
        overrides: Fields of the plan to change.
        limits: When to stop.
        run_id: Run to join; a new one without it.
    """
    with open_run("generate_instances", scale, overrides, limits, run_id) as run:
        for instance_set in run.plan.instance_sets():
            in_run(generate_instance_set, run, Stage.INSTANCES)(run, instance_set)
