"""Stage 6: merge landed rows, compute statistics, check merged tables."""

import hashlib

import polars as pl
from prefect import task
from prefect.cache_policies import NO_CACHE

from carryover.storage.warehouse.merger import MergeReport, merge
from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.analysis.claims import published_claims
from carryover.tasks.analysis.compute import compute_statistics
from carryover.tasks.plans.identity import Stage, stage_digest
from carryover.tasks.plans.models import planned_groups
from carryover.tasks.plans.run import Run
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.progress import progress_bar
from carryover.tasks.stages.caching import StageIdentity, in_run
from carryover.tasks.stages.finished import is_analysed
from carryover.tasks.stages.gate import gate_warehouse
from carryover.tasks.stages.progress import shown_progress
from carryover.tasks.stages.retrying import RETRIES


@task(task_run_name="merge", cache_policy=NO_CACHE, tags=["stage:analysis"], **RETRIES)
def merge_landing(run: Run) -> MergeReport:
    """Merge every landed bundle, refresh marts, replace the readers' copy."""
    return merge(run.landing, run.folders.warehouse, open_bar=shown_progress)


def _episodes(run: Run, columns: str = "*") -> pl.DataFrame:
    with Warehouse.open(run.folders.warehouse) as warehouse:
        return warehouse.sql(
            f"select {columns} from marts.episode_metrics where plan_digest = $plan_digest order by episode_id",
            plan_digest=run.plan.digest,
        ).polars()


def _identify(run: Run) -> str:
    """Return the identity of a plan's statistics.

    It covers its rows, settings, SQL and the source of the analysis.
    """
    ids = "".join(_episodes(run, "episode_id")["episode_id"])
    return stage_digest(Stage.ANALYSIS, run.plan.digest, run.plan.statistics, hashlib.sha256(ids.encode()).hexdigest())


@task(task_run_name="statistics", cache_policy=StageIdentity(identify=_identify))
def compute_study_statistics(run: Run) -> int:
    """Land every statistic of the plan, and the published claims beside them.

    Return how many statistics.
    """
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
    """Compute a plan's statistics, unless the last ones are current."""
    return in_run(compute_study_statistics, run, Stage.ANALYSIS, is_there=is_analysed(run.plan))(run)


@task(task_run_name="checks", cache_policy=NO_CACHE, tags=["stage:analysis"])
def check_warehouse(run: Run) -> int:
    """Check the merged tables, land results, and return the count.

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
