"""Runs: opened with their plan and environment, closed with how they ended."""

import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import polars as pl

from storage.landing import LandingZone
from tasks.plans.overrides import Overrides
from tasks.plans.presets import resolve_plan
from tasks.plans.run import Limits, Run
from tasks.plans.spec import StudyPlan, analysis_source
from tasks.running.environment import describe_environment
from tasks.running.errors import UserError
from tasks.running.limits import LimitReachedError
from tasks.running.places import Places, name_places, open_places
from tasks.traces.study_rows import RunEndRow, RunRow

ANALYSIS_KEY = "analysis_source"
"""Key of a run's environment under which the source of its statistics stands, as a digest."""
GENERATION_FILE = ".generation"
"""File in the data folder that tells it from another made later at the same place, or around another landing zone."""


@contextmanager
def open_run(flow: str, scale: str, overrides: Overrides, limits: Limits, run_id: str | None = None) -> Iterator[Run]:
    """Yield a new run of the named plan, or, with a `run_id`, the run that another flow opened, with its plan.

    Raises:
        UserError: There is no run of that id, or the data folder cannot be written.
    """
    if run_id is None:
        with start_run(flow, resolve_plan(scale, overrides), limits) as run:
            yield run
    else:
        places = open_places()
        yield _run(run_id, _landed_plan(LandingZone(places.landing), run_id), limits, places)


@contextmanager
def start_run(flow: str, plan: StudyPlan, limits: Limits) -> Iterator[Run]:
    """Yield a run whose start is landed, and land its end: finished, stopped by a limit or the keyboard, or failed."""
    places = open_places()
    zone = LandingZone(places.landing)
    if not zone.manifests().bundles:
        _begin_generation(places)
    run = _run(new_run_id(), plan, limits, places)
    zone.write({"runs": [_run_row(flow, run)]}, run.run_id)
    try:
        yield run
    except LimitReachedError as error:
        _land_end(zone, run, "stopped", str(error))
        raise
    except KeyboardInterrupt:
        _land_end(zone, run, "stopped", "interrupted from the keyboard")
        raise
    except BaseException as error:
        _land_end(zone, run, "failed", f"{type(error).__name__}: {error}")
        raise
    _land_end(zone, run, "finished", "")


def finished_runs(flow: str, plan_name: str | None = None, plan_digest: str | None = None) -> list[str]:
    """Return the ids of a flow's finished runs, earliest first, of one plan where that is asked for."""
    zone = LandingZone(name_places().landing)
    runs = zone.scan("runs").filter(pl.col("flow") == flow)
    if plan_name is not None:
        runs = runs.filter(pl.col("plan_name") == plan_name)
    if plan_digest is not None:
        runs = runs.filter(pl.col("plan_digest") == plan_digest)
    ends = zone.scan("run_ends").filter(pl.col("status") == "finished")
    return runs.join(ends, on="run_id", how="semi").sort("started_at").collect()["run_id"].to_list()


def landed_plan(run_id: str) -> StudyPlan:
    """Return the plan of a run, as it was resolved then.

    Raises:
        UserError: There is no run of that id.
    """
    return _landed_plan(LandingZone(name_places().landing), run_id)


def new_run_id() -> str:
    """Return a new run's id: its time in UTC, so that ids sort, and six random digits."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"


def _run(run_id: str, plan: StudyPlan, limits: Limits, places: Places) -> Run:
    return Run(
        run_id=run_id,
        plan=plan,
        home=places.home,
        landing=places.landing,
        generation=_generation(places),
        limits=limits,
    )


def _landed_plan(zone: LandingZone, run_id: str) -> StudyPlan:
    plans = zone.read("runs", ["plan_json"], pl.col("run_id") == run_id).column("plan_json").to_pylist()
    if not plans:
        raise UserError(f"no run {run_id!r} has landed in {zone.url}; leave run_id out to start one")
    return StudyPlan.model_validate_json(plans[0])


def _run_row(flow: str, run: Run) -> RunRow:
    return RunRow(
        run_id=run.run_id,
        flow=flow,
        plan_name=run.plan.name,
        plan_digest=run.plan.digest,
        scale=run.plan.scale,
        plan_json=run.plan.model_dump_json(),
        environment_json=json.dumps({**describe_environment(), ANALYSIS_KEY: analysis_source()}),
        started_at=datetime.now(UTC),
    )


def _land_end(zone: LandingZone, run: Run, status: str, message: str) -> None:
    end = RunEndRow.model_validate(
        {"run_id": run.run_id, "status": status, "message": message, "finished_at": datetime.now(UTC)}
    )
    zone.write({"run_ends": [end]}, run.run_id)


def _begin_generation(places: Places) -> None:
    """Give the data folder a new identity: what was cached of rows that have gone since counts no more."""
    file = places.home / GENERATION_FILE
    unfinished = file.with_name(f"{file.name}.{secrets.token_hex(3)}")
    unfinished.write_text(secrets.token_hex(8), encoding="utf-8")
    unfinished.replace(file)


def _generation(places: Places) -> str:
    file = places.home / GENERATION_FILE
    if not file.exists():
        _begin_generation(places)
    return file.read_text(encoding="utf-8")
