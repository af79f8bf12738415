"""Stage 6: statistics of the merged episodes."""

import hashlib

import polars as pl
from prefect import task

from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.analysis.claims import published_claims
from carryover.tasks.analysis.compute import compute_statistics
from carryover.tasks.plans.identity import Stage, stage_digest
from carryover.tasks.plans.models import planned_groups
from carryover.tasks.plans.run import Run
from carryover.tasks.stages.caching import StageIdentity, in_run
from carryover.tasks.stages.finished import is_analysed
from carryover.tasks.stages.progress import shown_progress


def _episodes(run: Run, columns: str = "*") -> pl.DataFrame:
    with Warehouse.open(run.folders.warehouse) as warehouse:
        return warehouse.sql(
            f"select {columns} from marts.episode_metrics where plan_digest = $plan_digest order by episode_id",
            plan_digest=run.plan.digest,
        ).polars()


def _identify(run: Run) -> str:
    """Return the identity of a plan's statistics: its rows, settings, SQL and the source of the analysis."""
    ids = "".join(_episodes(run, "episode_id")["episode_id"])
    return stage_digest(Stage.ANALYSIS, run.plan.digest, run.plan.statistics, hashlib.sha256(ids.encode()).hexdigest())


@task(task_run_name="statistics", cache_policy=StageIdentity(identify=_identify))
def compute_study_statistics(run: Run) -> int:
    """Land every statistic of the plan, and the published claims beside them; return how many statistics."""
    rows = compute_statistics(
        _episodes(run),
        plan_digest=run.plan.digest,
        run_id=run.run_id,
        spec=run.plan.statistics,
        planned=planned_groups(run.plan),
        open_bar=shown_progress,
    )
    LandingZone(run.landing).write({"statistics": rows, "claims": published_claims(run.run_id)}, run.run_id)
    return len(rows)


def update_statistics(run: Run) -> int:
    """Compute a plan's statistics, unless those of its rows by this source were the last to land."""
    return in_run(compute_study_statistics, run, Stage.ANALYSIS, is_there=is_analysed(run.plan))(run)
