"""Stage 6 as a flow: merge, statistics and checks."""

from carryover.flows.cli.messages import report_unmerged
from carryover.flows.stage_flows import stage_flow
from carryover.tasks.analyse import check_warehouse, merge_landing, update_statistics
from carryover.tasks.plans.run import Run


@stage_flow("analysis", is_of_plans_source=False)
def analyse_study(run: Run) -> None:
    """Merge the landing zone, compute a plan's statistics, check the merged tables."""
    report_unmerged(merge_landing(run))
    update_statistics(run)
    merge_landing(run)  # the checks read the statistics as well
    try:
        check_warehouse(run)
    finally:
        merge_landing(run)  # what the checks found, above all where they failed
