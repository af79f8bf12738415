"""Foreign episodes into the warehouse, with the statistics that our own episodes get."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from storage.batching import BatchedLanding
from storage.landing import LandingZone
from storage.merger import merge
from storage.runs import new_run_id
from storage.warehouse import Warehouse
from tasks.analysis.compute import compute_statistics
from tasks.interchange.authors_import import KnownInstance
from tasks.interchange.formats import import_traces
from tasks.interchange.setting import ImportSetting
from tasks.running.environment import describe_environment
from tasks.running.errors import UserError
from tasks.running.places import Places, name_places
from tasks.traces.study_rows import RunEndRow, RunRow

KNOWN_INSTANCES = """
select
    task_id,
    capacity,
    optimal_value,
    any_value(instance_id)
from instances
group by all
"""
OTHER_FLOWS = "select distinct flow from runs where plan_digest = $plan and flow <> 'import'"
PLAN_EPISODES = "select * from marts.episode_metrics where plan_digest = $plan"


def import_episodes(source: Path, home: Path | None, setting: Mapping[str, Any]) -> int:
    """Land foreign episodes under a run of their own, merge them, compute their plan's statistics; return their count.

    Args:
        source: What `import_traces` reads.
        home: Data folder, which is made where there is none.
        setting: Fields of `ImportSetting` but the run.

    Raises:
        UserError: The source cannot be read or holds no trace, or a setting cannot be; nothing has landed then.
    """
    places = name_places(home)
    run_id = new_run_id()
    try:
        chosen = ImportSetting(run_id=run_id, **setting)
    except ValidationError as error:
        raise UserError(error.errors()[0]["msg"].removeprefix("Value error, ")) from error
    known = _known_instances(places, chosen.plan)
    # Read to its end once before anything lands: a bad record far down must not leave half a source behind.
    count = sum(1 for _ in import_traces(source, chosen, known))
    if not count:
        raise UserError(f"no trace in {source}; nothing was imported")
    places.home.mkdir(parents=True, exist_ok=True)
    zone = LandingZone(places.landing)
    zone.write({"runs": [_run_row(source, chosen)]}, run_id)
    with BatchedLanding(zone, run_id) as batch:
        for rows in import_traces(source, chosen, known):
            batch.add(rows.tables())
    merge(zone, places.warehouse)
    _land_statistics(zone, places, chosen)
    end = RunEndRow(run_id=run_id, status="finished", message="", finished_at=datetime.now(UTC))
    zone.write({"run_ends": [end]}, run_id)
    merge(zone, places.warehouse)
    return count


def _known_instances(places: Places, plan: str) -> dict[KnownInstance, str]:
    if not places.warehouse.exists():
        return {}
    with Warehouse.open(places.warehouse) as warehouse:
        if flows := warehouse.sql(OTHER_FLOWS, plan=plan).rows():
            raise UserError(f"plan {plan!r} is one of {flows[0][0]}; import under a name of its own with --plan")
        rows = warehouse.sql(KNOWN_INSTANCES).rows()
    return {KnownInstance(*described): instance_id for *described, instance_id in rows}


def _land_statistics(zone: LandingZone, places: Places, setting: ImportSetting) -> None:
    with Warehouse.open(places.warehouse) as warehouse:
        episodes = warehouse.sql(PLAN_EPISODES, plan=setting.plan).polars()
    if statistics := compute_statistics(episodes, plan_digest=setting.plan, run_id=setting.run_id):
        zone.write({"statistics": statistics}, setting.run_id)


def _run_row(source: Path, setting: ImportSetting) -> RunRow:
    return RunRow(
        run_id=setting.run_id,
        flow="import",
        plan_name=setting.plan,
        plan_digest=setting.plan,
        scale=setting.scale,
        plan_json=json.dumps({"source": str(source), "setting": setting.model_dump(mode="json", exclude={"run_id"})}),
        environment_json=json.dumps(describe_environment()),
        started_at=datetime.now(UTC),
    )
