"""Stage 5: statistics of the merged episodes."""

from prefect import task

from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.analysis.claims import published_claims
from carryover.tasks.analysis.compute import compute_statistics
from carryover.tasks.plans.run import Run
from carryover.tasks.running.progress import progress_bar


@task
def compute_study_statistics(run: Run) -> int:
    """Land every statistic of the plan, and the published claims beside them; return how many statistics."""
    with Warehouse.open(run.places.warehouse) as warehouse:
        episodes = warehouse.sql(
            "select * from marts.episode_metrics where plan_digest = $plan_digest", plan_digest=run.plan.digest
        ).polars()
    rows = compute_statistics(
        episodes,
        plan_digest=run.plan.digest,
        run_id=run.run_id,
        spec=run.plan.statistics,
        open_bar=progress_bar,
    )
    LandingZone(run.landing).write({"statistics": rows, "claims": published_claims(run.run_id)}, run.run_id)
    return len(rows)
