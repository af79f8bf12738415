"""What a plan has of its stages: results that its runs made, or found made for another plan."""

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl
from pydantic import BaseModel

from carryover.storage.zone.landing import LandingZone
from carryover.tasks.plans.identity import Stage
from carryover.tasks.plans.run import Run
from carryover.tasks.traces.rows import Row
from carryover.tasks.traces.study_rows import PlanStageRow, ReusedEpisodeRow


class NotedStage(NamedTuple):
    """What has landed of a stage of a plan."""

    stage_digest: str
    result_json: str | None


def note_stage(run: Run, stage: Stage, name: str, digest: str, result: BaseModel | None = None) -> None:
    """Land which result the plan has of a stage, unless that has landed already."""
    row = PlanStageRow(
        run_id=run.run_id,
        plan_digest=run.plan.digest,
        stage=stage,
        name=name,
        stage_digest=digest,
        result_json=None if result is None else result.model_dump_json(),
    )
    zone = LandingZone(run.landing)
    noted = noted_stage(zone, run, stage, name)
    if noted is None or noted != (row.stage_digest, row.result_json):
        zone.write({PlanStageRow.TABLE: [row]}, run.run_id)


def stage_result(run: Run, stage: Stage, name: str) -> str | None:
    """Return the JSON of the result that the plan has of a stage; `None` if it has none."""
    noted = noted_stage(LandingZone(run.landing), run, stage, name)
    return None if noted is None else noted.result_json


def note_reuse(run: Run, zone: LandingZone, episode_ids: Sequence[str]) -> int:
    """Land which episodes the plan reuses from other plans, and return how many."""
    own = zone.landed_episodes(run.plan.digest)
    reused = [episode_id for episode_id in episode_ids if episode_id not in own]
    noted = zone.scan(ReusedEpisodeRow.TABLE).filter(pl.col("plan_digest") == run.plan.digest)
    known = set(noted.select("episode_id").collect()["episode_id"])
    rows: list[Row] = [
        ReusedEpisodeRow(run_id=run.run_id, plan_digest=run.plan.digest, episode_id=episode_id)
        for episode_id in reused
        if episode_id not in known
    ]
    if rows:
        zone.write({ReusedEpisodeRow.TABLE: rows}, run.run_id)
    return len(reused)


def noted_stage(zone: LandingZone, run: Run, stage: Stage, name: str) -> NotedStage | None:
    """Return what the plan has of a stage; `None` if it has nothing."""
    is_asked = (pl.col("plan_digest") == run.plan.digest) & (pl.col("stage") == stage.value) & (pl.col("name") == name)
    rows = zone.scan(PlanStageRow.TABLE).filter(is_asked).select(NotedStage._fields).collect().rows()
    return NotedStage(*rows[0]) if rows else None
