"""Import of foreign episodes, with the statistics of our own."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from carryover.storage.warehouse.merger import MergeReport, merge
from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.zone.batching import BatchedLanding
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.analysis.claims import published_claims
from carryover.tasks.analysis.compute import compute_statistics
from carryover.tasks.analysis.queries import command_sql
from carryover.tasks.readers.import_setting import ImportSetting
from carryover.tasks.readers.importing import import_traces
from carryover.tasks.readers.tally import Tally
from carryover.tasks.readers.trace import InstanceDescription
from carryover.tasks.services.environment import describe_environment
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.folders import name_folders
from carryover.tasks.services.progress import progress_bar, waiting_line
from carryover.tasks.stages.runs import landed_run, new_run_id
from carryover.tasks.traces.study_rows import RunRow


class ImportReport(NamedTuple):
    """Counts of an import, and what it left unread."""

    episode_count: int
    step_count: int
    unread: tuple[str, ...]
    """What was not read: a sentence per reason."""
    passed_over: tuple[str, ...]
    """What runs no code: a sentence per kind."""
    merged: MergeReport
    """Report of the merge that took the episodes in."""


def import_episodes(source: Path, home: Path | None, setting: Mapping[str, Any]) -> ImportReport:
    """Land and merge foreign episodes, and compute their statistics.

    `setting` holds fields of `ImportSetting`; the data folder is made where there is none.

    Raises:
        UserError: The source cannot be read or holds no block that ran, a setting cannot be, or another model has the
            place in the plan; nothing has landed then.
    """
    folders = name_folders(home)
    run_id = new_run_id()
    try:
        chosen = ImportSetting(run_id=run_id, **setting)
    except ValidationError as error:
        raise UserError(error.errors()[0]["msg"].removeprefix("Value error, ")) from error
    known: dict[InstanceDescription, str] = {}
    if folders.warehouse.exists():
        with Warehouse.open(folders.warehouse) as warehouse:
            _check_flow(warehouse, chosen.plan)
            rows = warehouse.sql(command_sql("known_instances")).rows()
        known = {InstanceDescription(*described): instance_id for *described, instance_id in rows}
    # Read to its end once before anything lands: what cannot be imported must not leave half a source behind.
    first = _read_through(source, chosen, known)
    _refuse_mixed_models(source, first.cells)
    if folders.warehouse.exists():
        with Warehouse.open(folders.warehouse) as warehouse:
            _check_models(warehouse, chosen.plan, first.cells)
    count = first.episode_count
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
        merged = merge(zone, folders.warehouse, open_bar=progress_bar)
        with Warehouse.open(folders.warehouse) as warehouse:
            episodes = warehouse.sql(command_sql("plan_metrics"), plan_digest=chosen.plan).polars()
        statistics = compute_statistics(episodes, plan_digest=chosen.plan, run_id=run_id, open_bar=progress_bar)
        zone.write({"statistics": statistics, "claims": published_claims(run_id)}, run_id)
    merge(zone, folders.warehouse)
    return ImportReport(
        episode_count=count,
        step_count=first.step_count,
        unread=tuple(first.tally.sentences()),
        passed_over=tuple(first.tally.passed_over()),
        merged=merged,
    )


class _Cell(NamedTuple):
    """Columns of which a plan holds one model."""

    purpose: str
    train_contract: str | None
    variant: str
    base: str
    bucket: str


class _FirstReading(NamedTuple):
    """Counts of a source, and its models by cell."""

    episode_count: int
    step_count: int
    tally: Tally
    cells: Mapping[_Cell, set[str]]
    """Models by cell."""


def _read_through(source: Path, setting: ImportSetting, known: Mapping[InstanceDescription, str]) -> _FirstReading:
    """Read a source to its end.

    Raise `UserError` where it holds no block that ran.
    """
    tally = Tally()
    cells: dict[_Cell, set[str]] = {}
    found = import_traces(source, setting, known, tally)
    first = next(found, None)
    if first is None:
        raise UserError(f"no trace in {source}{_told(tally)}; nothing was imported")
    episodes = 0
    steps = 0
    with waiting_line(f"reading {source}") as tell:
        for rows in chain([first], found):
            episodes += 1
            steps += rows.episode.step_count
            cell = _Cell(*(getattr(rows.episode, name) for name in _Cell._fields))
            cells.setdefault(cell, set()).add(rows.episode.model_name)
            tell(f"{episodes} episodes")
    if not steps:
        raise UserError(f"no executed block in {episodes} episodes of {source}{_told(tally)}; nothing was imported")
    return _FirstReading(episodes, steps, tally, cells)


def _told(tally: Tally) -> str:
    sentences = tally.sentences()
    if sentences:
        return f": {'; '.join(sentences)}"
    return ""


def _check_flow(warehouse: Warehouse, plan: str) -> None:
    """Raise `UserError` when a plan holds rows of another flow."""
    flows = warehouse.sql(command_sql("other_flows"), plan=plan).rows()
    if flows:
        raise UserError(f"plan {plan!r} belongs to flow {flows[0][0]}; choose another name with --plan")


def _refuse_mixed_models(source: Path, cells: Mapping[_Cell, set[str]]) -> None:
    """Raise `UserError` when a source has several models in a cell."""
    for models in cells.values():
        if len(models) > 1:
            named = ", ".join(map(repr, sorted(models)))
            raise UserError(
                f"{source} has episodes of several models in one cell: {named}; name one for all with --model, or "
                "import each model's file under a plan of its own with --plan"
            )


def _check_models(warehouse: Warehouse, plan: str, cells: Mapping[_Cell, set[str]]) -> None:
    """Raise `UserError` when an import's cells hold another model's rows."""
    for cell, (model,) in cells.items():
        others = warehouse.sql(command_sql("other_models"), plan=plan, model=model, **cell._asdict()).rows()
        if others:
            (first,) = min(others)
            raise UserError(
                f"plan {plan!r} has episodes of model {first!r} in the cells of {model!r}; "
                "import it under a plan of its own with --plan"
            )
