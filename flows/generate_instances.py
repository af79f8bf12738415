"""Stage 1 as a flow: sample and land a plan's instances."""

from carryover.flows.stage_flows import stage_flow
from carryover.tasks.generate import provide_instances
from carryover.tasks.plans.run import Run


@stage_flow("instances")
def generate_instances(run: Run) -> None:
    """Sample, validate and land the instance sets of a plan."""
    for instance_set in run.plan.instance_sets():
        provide_instances(run, instance_set)
