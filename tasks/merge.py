"""Stage 6: landed rows into the warehouse."""

from prefect import task
from prefect.cache_policies import NO_CACHE

from carryover.storage.warehouse.merger import MergeReport, merge
from carryover.tasks.plans.run import Run
from carryover.tasks.stages.progress import shown_progress
from carryover.tasks.stages.retrying import RETRIES


@task(task_run_name="merge", cache_policy=NO_CACHE, tags=["stage:analysis"], **RETRIES)
def merge_landing(run: Run) -> MergeReport:
    """Take every landed bundle into the warehouse, refresh the marts and replace the readers' copy."""
    return merge(run.landing, run.folders.warehouse, open_bar=shown_progress)
