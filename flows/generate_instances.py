"""Stage 1 as a flow: sample, validate and land the instance sets of a plan."""

from prefect import flow

from carryover.flows.runners import stage_of_plan
from carryover.flows.shown import name_run, shown_as
from carryover.tasks.generate import provide_instances
from carryover.tasks.plans.run import Run


@flow(name="generate-instances", flow_run_name=name_run)
@shown_as("instances")
@stage_of_plan()
def generate_instances(run: Run) -> None:
    """Sample, validate and land the instance sets of a plan."""
    for instance_set in run.plan.instance_sets():
        provide_instances(run, instance_set)
