"""Stage 5: landed rows into the warehouse."""

from prefect import task

from carryover.storage.warehouse.merger import MergeReport, merge
from carryover.tasks.plans.run import Run
from carryover.tasks.progress import shown_progress


@task(task_run_name="merge", tags=["stage:analysis"])
def merge_landing(run: Run) -> MergeReport:
    """Take every landed bundle into the warehouse, refresh the marts and replace the readers' copy."""
    return merge(run.landing, run.places.warehouse, open_bar=shown_progress)
