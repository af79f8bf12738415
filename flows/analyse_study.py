"""Stage 6 as a flow: landed rows into the warehouse, statistics, and checks on the merged tables."""

from prefect import flow

from carryover.flows.runners import stage_of_plan
from carryover.flows.shown import name_run, shown_as
from carryover.tasks.analyse import update_statistics
from carryover.tasks.check import check_warehouse
from carryover.tasks.merge import merge_landing
from carryover.tasks.plans.run import Run


@flow(name="analyse-study", flow_run_name=name_run)
@shown_as("analysis")
@stage_of_plan(is_of_plans_source=False)
def analyse_study(run: Run) -> None:
    """Merge the landing zone, compute the statistics of a plan and check the merged tables."""
    merge_landing(run)
    update_statistics(run)
    merge_landing(run)  # the checks read the statistics as well
    try:
        check_warehouse(run)
    finally:
        merge_landing(run)  # what the checks found, above all where they failed
