"""Runs: opened with their plan and environment, closed with how they ended."""

import json
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

import polars as pl
from pydantic import ValidationError

from carryover.storage.zone.landing import LandingZone
from carryover.storage.zone.objects import begin_generation, read_generation
from carryover.tasks.plans.identity import analysis_source, current_source
from carryover.tasks.plans.run import Limits, Run
from carryover.tasks.plans.study_plan import StudyPlan
from carryover.tasks.services.environment import describe_environment
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.folders import Folders, name_folders, open_folders
from carryover.tasks.services.limits import LimitReachedError
from carryover.tasks.traces.study_rows import RunEndRow, RunRow
from carryover.tasks.traces.vocabulary import RunStatus

ANALYSIS_KEY = "analysis_source"
"""Key of a run's environment for the digest of its statistics' source."""
JOINED_KEY = "joined_run"
"""Key of the run that another process opened and that this one plays a stage of."""
SERVER_KEY = "server"
"""Key under which a run that is a server's describes it: its program, version and command line."""

opened_here: set[str] = set()
"""Runs that this process opened: their environment is that of every stage that joins them here."""


class NoStudyError(UserError):
    """No study has finished that could be evaluated again."""


@contextmanager
def join_run(flow: str, run_id: str, limits: Limits, *, is_of_plans_source: bool = True) -> Iterator[Run]:
    """Yield a run of another flow's plan, found by its run.

    A stage that joins a run of its own process is part of that run. In another process, on a worker say, it is a run
    with an environment of its own. With `is_of_plans_source` it must have the source of the plan: its rows would be
    those of another code than the plan names.

    Raises:
        UserError: There is no run of that id, it is of another source, or the data folder cannot be written.
    """
    plan = landed_plan(run_id)
    if is_of_plans_source:
        _refuse_other_source(run_id, plan.source)
    if run_id in opened_here:
        yield _run(run_id, plan, limits, open_folders())
        return
    with start_run(flow, plan, limits, joined_run=run_id) as run:
        yield run


@contextmanager
def start_run(
    flow: str,
    plan: StudyPlan,
    limits: Limits,
    *,
    joined_run: str | None = None,
    environment: Mapping[str, Any] = MappingProxyType({}),
) -> Iterator[Run]:
    """Yield a run that lands its start, end, plan and environment.

    Its environment names the source that is here, which is another one than the plan's where models are evaluated
    again after an update; `environment` adds to it what only the caller knows.
    """
    folders = open_folders()
    zone = LandingZone(folders.landing)
    if not zone.manifests().bundles:
        begin_generation(folders)
    run = _run(new_run_id(), plan, limits, folders)
    described = {
        **describe_environment(),
        "source": current_source(),
        ANALYSIS_KEY: analysis_source(),
        **({} if joined_run is None else {JOINED_KEY: joined_run}),
        **environment,
    }
    row = RunRow(
        run_id=run.run_id,
        flow=flow,
        plan_name=plan.name,
        plan_digest=plan.digest,
        scale=plan.scale,
        plan_json=plan.model_dump_json(),
        environment_json=json.dumps(described),
        source=current_source(),
        started_at=datetime.now(UTC),
    )
    with landed_run(zone, row):
        opened_here.add(run.run_id)
        yield run


@contextmanager
def landed_run(zone: LandingZone, row: RunRow) -> Iterator[None]:
    """Land a run's start and end.

    It ends finished, stopped by a limit or a signal, or failed.
    """
    zone.write({RunRow.TABLE: [row]}, row.run_id)
    try:
        yield
    except BaseException as error:
        _land_end(zone, row.run_id, *_ending(error))
        raise
    _land_end(zone, row.run_id, "finished", "")


def _land_end(zone: LandingZone, run_id: str, status: RunStatus, message: str) -> None:
    end = RunEndRow(run_id=run_id, status=status, message=message, finished_at=datetime.now(UTC))
    zone.write({RunEndRow.TABLE: [end]}, run_id)


def finished_runs(flow: str, plan_name: str) -> list[str]:
    """Return the ids of a flow's finished runs, earliest first.

    They are runs of plans of one name.
    """
    zone = LandingZone(name_folders().landing)
    runs = zone.scan("runs").filter(pl.col("flow") == flow, pl.col("plan_name") == plan_name)
    ends = zone.scan("run_ends").filter(pl.col("status") == "finished")
    return runs.join(ends, on="run_id", how="semi").sort("started_at").collect()["run_id"].to_list()


def choose_study(preset: StudyPlan) -> str:
    """Return the run of the latest finished study that ran a preset.

    One of its scale with overrides if there is none.

    Raises:
        NoStudyError: No study of that scale has finished.
    """
    scale = preset.name
    if not (studies := finished_runs("reproduce_study", plan_name=scale)):
        raise NoStudyError(
            f"no finished study of scale {scale!r} to evaluate again; `carryover run --scale {scale}` makes one"
        )
    for run_id in reversed(studies):
        with suppress(UserError):  # a plan of another version
            plan = landed_plan(run_id)
            if plan.model_copy(update={"source": preset.source}).digest == preset.digest:
                return run_id
    return studies[-1]


def landed_plan(run_id: str) -> StudyPlan:
    """Return the plan that a run resolved.

    Raise `UserError` for an unknown run, or a plan of another version.
    """
    zone = LandingZone(name_folders().landing)
    rows = zone.read("runs", ["plan_json", "plan_digest"], pl.col("run_id") == run_id).to_pylist()
    if not rows:
        raise UserError(f"no run {run_id!r} has landed in {zone.url}; leave run_id out to start one")
    (row,) = rows
    refusal = f"the plan {row['plan_digest']} of run {run_id} cannot be read by this version; run the study anew"
    try:
        plan = StudyPlan.model_validate_json(row["plan_json"])
    except ValidationError as error:
        raise UserError(f"{refusal} ({error.errors()[0]['msg']})") from error
    if plan.digest != row["plan_digest"]:  # it lacks a field, which would get its default here
        raise UserError(refusal)
    return plan


def new_run_id() -> str:
    """Return a new run's id: sortable UTC time and random digits."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"


def _run(run_id: str, plan: StudyPlan, limits: Limits, folders: Folders) -> Run:
    return Run(
        run_id=run_id,
        plan=plan,
        home=folders.home,
        landing=folders.landing,
        generation=read_generation(folders),
        limits=limits,
    )


def _ending(error: BaseException) -> tuple[RunStatus, str]:
    match error:
        case LimitReachedError():
            return "stopped", str(error)
        case KeyboardInterrupt():
            return "stopped", "interrupted from the keyboard"
        case Exception():
            return "failed", f"{type(error).__name__}: {error}"
        case _:  # SIGTERM, under the name that Prefect gives it
            return "stopped", f"ended by {type(error).__name__}"


def _refuse_other_source(run_id: str, source: str) -> None:
    here = current_source()
    if source != here:
        raise UserError(
            f"run {run_id} is of source {source}, and the source here is {here}: check out that source here, or "
            "leave run_id out and start the study anew, as a plan of the source here"
        )
