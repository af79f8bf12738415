"""A night's verdict: landed, with an event for each regression."""

import json
from datetime import UTC, datetime

from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.events import emit_event

from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.analysis.queries import command_sql
from carryover.tasks.nightly.judge import Night, RunFacts, judge_night
from carryover.tasks.nightly.night_spec import Thresholds, study_variant
from carryover.tasks.plans.run import Run
from carryover.tasks.traces.result_rows import NightVerdictRow

NIGHT_EVENT = "carryover.night"
"""A night ended in a verdict."""
REGRESSION_EVENT = "carryover.regression"


@task(task_run_name="judge-{series}", cache_policy=NO_CACHE, tags=["stage:reevaluation"])
def judge_episodes(run: Run, series: str, thresholds: Thresholds) -> list[NightVerdictRow]:
    """Land and return a verdict on each cell of a run.

    Emit an event for every regression.
    """
    with Warehouse.open(run.folders.warehouse) as warehouse:
        episodes = warehouse.sql(command_sql("judged_episodes"), plan_digest=run.plan.digest).polars()
        facts = {run_id: _facts(warehouse, run_id) for run_id in episodes["run_id"].unique()}
    night = Night(
        run_id=run.run_id,
        plan_digest=run.plan.digest,
        study_variant=study_variant(run.plan),
        series=series,
        judged_at=datetime.now(UTC),
        thresholds=thresholds,
        statistics=run.plan.statistics,
        facts=facts,
    )
    rows = judge_night(episodes, night)
    LandingZone(run.landing).write({NightVerdictRow.TABLE: rows}, run.run_id)
    for row in rows:
        if row.verdict == "regression":
            announce(row, run)
    return rows


def announce(row: NightVerdictRow, run: Run) -> None:
    """Emit a verdict as the event that a regression is."""
    cell = f"{row.model_name} on {row.runtime_contract}, {row.bucket}"
    emit_event(
        event=REGRESSION_EVENT,
        resource={
            "prefect.resource.id": f"carryover.model.{row.plan_digest}.{row.base}.{row.model_name}",
            "prefect.resource.name": f"{run.plan.name}: {cell}",
            "carryover.plan": row.plan_digest,
            "carryover.series": row.series,
            "carryover.runtime_contract": row.runtime_contract,
        },
        payload=row.model_dump(mode="json"),
    )


def announce_night(run: Run, series: str, message: str) -> None:
    """Emit the event that a night ended in a verdict."""
    emit_event(
        event=NIGHT_EVENT,
        resource={
            "prefect.resource.id": f"carryover.night.{run.plan.digest}",
            "prefect.resource.name": run.plan.name,
            "carryover.plan": run.plan.digest,
            "carryover.series": series,
        },
        payload={"message": message},
    )


def _facts(warehouse: Warehouse, run_id: str) -> RunFacts:
    described = warehouse.sql("select environment_json from runs where run_id = $run_id", run_id=run_id).rows()
    servers = warehouse.sql(command_sql("run_servers"), run_id=run_id).rows()
    environment = {}
    if described:
        environment = json.loads(described[0][0])
    return RunFacts(environment, tuple(json.loads(server) for (server,) in servers))
