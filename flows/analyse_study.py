"""Stage 5 as a flow: landed rows into the warehouse, statistics, and checks on the merged tables."""

from prefect import flow

from carryover.flows.shown import name_run, shown_as
from carryover.storage.study.runs import open_run
from carryover.tasks.analyse import update_statistics
from carryover.tasks.check import check_warehouse
from carryover.tasks.merge import merge_landing
from carryover.tasks.plans.overrides import Overrides
from carryover.tasks.plans.presets import PlanName
from carryover.tasks.plans.run import Limits


@flow(name="analyse-study", flow_run_name=name_run)
@shown_as("analysis")
def analyse_study(
    scale: PlanName = "laptop",
    overrides: Overrides = Overrides(),  # noqa: B008 - frozen
    limits: Limits = Limits(),  # noqa: B008 - frozen
    run_id: str | None = None,
) -> None:
    """Merge the landing zone, compute the statistics of a plan and check the merged tables.

    Args:
        scale: Name of the plan.
        overrides: Fields of the plan to change.
        limits: When to stop.
        run_id: Run to join; a new one without it.
    """
    with open_run("analyse_study", scale, overrides, limits, run_id, is_of_plans_source=False) as run:
        merge_landing(run)
        update_statistics(run)
        merge_landing(run)  # the checks read the statistics as well
        try:
            check_warehouse(run)
        finally:
            merge_landing(run)  # what the checks found, above all where they failed
