"""Import of foreign episodes into the warehouse, with the statistics that our own episodes get."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from carryover.storage.warehouse.merger import merge
from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.zone.batching import BatchedLanding
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.analysis.claims import published_claims
from carryover.tasks.analysis.compute import compute_statistics
from carryover.tasks.analysis.queries import command_sql
from carryover.tasks.interchange.authors_import import KnownInstance
from carryover.tasks.interchange.formats import import_traces
from carryover.tasks.interchange.setting import ImportSetting
from carryover.tasks.services.environment import describe_environment
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.folders import name_folders
from carryover.tasks.services.progress import progress_bar, waiting_line
from carryover.tasks.stages.runs import landed_run, new_run_id
from carryover.tasks.traces.study_rows import RunRow


def import_episodes(source: Path, home: Path | None, setting: Mapping[str, Any]) -> int:
    """Land foreign episodes under a run of their own, merge them, compute their plan's statistics; return their count.

    `setting` holds fields of `ImportSetting`; the data folder is made where there is none.

    Raises:
        UserError: The source cannot be read or holds no trace, a setting cannot be, or another model has the place in
            the plan; nothing has landed then.
    """
    folders = name_folders(home)
    run_id = new_run_id()
    try:
        chosen = ImportSetting(run_id=run_id, **setting)
    except ValidationError as error:
        raise UserError(error.errors()[0]["msg"].removeprefix("Value error, ")) from error
    known: dict[KnownInstance, str] = {}
    if folders.warehouse.exists():
        with Warehouse.open(folders.warehouse) as warehouse:
            _check_plan(warehouse, chosen)
            rows = warehouse.sql(command_sql("known_instances")).rows()
        known = {KnownInstance(*described): instance_id for *described, instance_id in rows}
    # Read to its end once before anything lands: a bad record far down must not leave half a source behind.
    traces = import_traces(source, chosen, known)
    if next(traces, None) is None:
        raise UserError(f"no trace in {source}; nothing was imported")
    count = 1
    with waiting_line(f"reading {source}") as tell:
        for count, _ in enumerate(traces, start=2):
            tell(f"{count} episodes")
    folders.home.mkdir(parents=True, exist_ok=True)
    zone = LandingZone(folders.landing)
    plan = {"source": str(source), "setting": chosen.model_dump(mode="json", exclude={"run_id"})}
    run = RunRow(
        run_id=run_id,
        flow="import",
        plan_name=chosen.plan,
        plan_digest=chosen.plan,
        scale=chosen.scale,
        plan_json=json.dumps(plan),
        environment_json=json.dumps(describe_environment()),
        started_at=datetime.now(UTC),
    )
    with landed_run(zone, run):
        with progress_bar(f"import {source.name}", count, "episodes") as advance, BatchedLanding(zone, run_id) as batch:
            for rows in import_traces(source, chosen, known):
                batch.add(rows.tables())
                advance(1)
        merge(zone, folders.warehouse, open_bar=progress_bar)
        with Warehouse.open(folders.warehouse) as warehouse:
            episodes = warehouse.sql(command_sql("plan_metrics"), plan_digest=chosen.plan).polars()
        statistics = compute_statistics(episodes, plan_digest=chosen.plan, run_id=run_id, open_bar=progress_bar)
        zone.write({"statistics": statistics, "claims": published_claims(run_id)}, run_id)
    merge(zone, folders.warehouse)
    return count


def _check_plan(warehouse: Warehouse, setting: ImportSetting) -> None:
    """Raise `UserError` when the plan holds rows of another flow, or of another model in the same cells."""
    if flows := warehouse.sql(command_sql("other_flows"), plan=setting.plan).rows():
        raise UserError(f"plan {setting.plan!r} belongs to flow {flows[0][0]}; choose another name with --plan")
    models = warehouse.sql(
        command_sql("other_models"),
        plan=setting.plan,
        model=setting.model_name,
        purpose=setting.purpose,
        train_contract=setting.train_contract,
        variant=setting.variant,
        base=setting.episode_base,
        bucket=setting.bucket,
    ).rows()
    if models:
        raise UserError(
            f"plan {setting.plan!r} has episodes of model {models[0][0]!r} in the cells of {setting.model_name!r}; "
            "import it under a plan of its own with --plan"
        )
