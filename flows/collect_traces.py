"""Stage 2 as a flow: paired teacher traces under both contracts."""

from prefect import flow

from carryover.flows.runners import collect_shards, two_at_a_time
from carryover.flows.shown import name_run, shown_as
from carryover.storage.study.runs import open_run
from carryover.tasks.plans.overrides import Overrides
from carryover.tasks.plans.preflight import check_teachers
from carryover.tasks.plans.presets import PlanName
from carryover.tasks.plans.run import Limits
from carryover.tasks.plans.shards import teacher_shards
from carryover.tasks.provide_tokenizer import open_tokenizer


@flow(name="collect-traces", flow_run_name=name_run, task_runner=two_at_a_time())
@shown_as("traces")
def collect_traces(
    scale: PlanName = "laptop",
    overrides: Overrides = Overrides(),  # noqa: B008 - frozen
    limits: Limits = Limits(),  # noqa: B008 - frozen
    run_id: str | None = None,
) -> None:
    """Collect paired teacher traces of a plan, on the same instances under both contracts.

    Args:
        scale: Name of the plan.
        overrides: Fields of the plan to change.
        limits: When to stop.
        run_id: Run to join; a new one without it.
    """
    with open_run("collect_traces", scale, overrides, limits, run_id) as run:
        check_teachers(run.plan)
        for part in run.plan.parts:
            collect_shards(run, teacher_shards(run, part, open_tokenizer(run, part)))
