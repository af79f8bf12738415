"""Stage 6: checks on the merged tables."""

from prefect import task
from prefect.cache_policies import NO_CACHE

from carryover.storage.zone.landing import LandingZone
from carryover.tasks.plans.run import Run
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.progress import progress_bar
from carryover.tasks.stages.gate import gate_warehouse


@task(task_run_name="checks", cache_policy=NO_CACHE, tags=["stage:analysis"])
def check_warehouse(run: Run) -> int:
    """Check the merged tables, land what was found, and return the number of checks.

    Raise `UserError` if a check fails; the rows that break it are in `check_results` and Data Docs.
    """
    docs = run.folders.documents / "warehouse_docs"
    rows = gate_warehouse(
        run.folders.warehouse, docs, run_id=run.run_id, plan_digest=run.plan.digest, open_bar=progress_bar
    )
    LandingZone(run.landing).write({"check_results": rows}, run.run_id)
    failed = [f"{row.check_name} broken by {row.unexpected_count}" for row in rows if not row.is_passed]
    if failed:
        raise UserError(f"the merged tables break their checks: {'; '.join(failed)}; see {docs / 'index.html'}")
    return len(rows)
