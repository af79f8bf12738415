"""Stage results of a plan, made by its runs or reused.

First its instances.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import polars as pl
from pydantic import BaseModel, RootModel

from carryover.storage.zone.landing import LandingZone
from carryover.tasks.agent.family import Instance
from carryover.tasks.families.choose import StudyFamily
from carryover.tasks.plans.identity import Stage, stage_digest
from carryover.tasks.plans.run import Run
from carryover.tasks.plans.study_plan import InstanceSetSpec
from carryover.tasks.services.errors import UserError
from carryover.tasks.traces.rows import Row
from carryover.tasks.traces.study_rows import PlanStageRow, ReusedEpisodeRow

ITEM_FIELDS = ("item_id", "weight", "value", "item_class")
"""What an instance of the knapsack holds of its items."""
_Ids = RootModel[list[str]]


class NotedStage(NamedTuple):
    """Landed result of a stage of a plan."""

    stage_digest: str
    result_json: str | None


def zone_of(run: Run) -> LandingZone:
    """Return a run's landing zone, one per process.

    So a plan of many parts reads each manifest once.
    """
    return _opened(run.landing, run.generation)


@lru_cache(maxsize=8)
def _opened(landing: str, _generation: str) -> LandingZone:
    return LandingZone(landing)


def note_stage(run: Run, stage: Stage, name: str, digest: str, result: BaseModel | None = None) -> None:
    """Land a stage's result for the plan, unless it has landed."""
    row = PlanStageRow(
        run_id=run.run_id,
        plan_digest=run.plan.digest,
        stage=stage,
        name=name,
        stage_digest=digest,
        result_json=None if result is None else result.model_dump_json(),
    )
    zone = zone_of(run)
    if noted_stage(zone, run, stage, name) != (row.stage_digest, row.result_json):
        zone.write({PlanStageRow.TABLE: [row]}, run.run_id)


def stage_result(run: Run, stage: Stage, name: str) -> str | None:
    """Return the JSON of the plan's result of a stage.

    `None` if it has none.
    """
    noted = noted_stage(zone_of(run), run, stage, name)
    if noted is None:
        return None
    return noted.result_json


def note_reuse(run: Run, zone: LandingZone, episode_ids: Sequence[str]) -> int:
    """Land the episodes that a plan reuses, and return their count."""
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
    """Return what the plan has of a stage.

    `None` if it has nothing.
    """
    is_asked = (pl.col("plan_digest") == run.plan.digest) & (pl.col("stage") == stage.value) & (pl.col("name") == name)
    rows = zone.scan(PlanStageRow.TABLE).filter(is_asked).select(NotedStage._fields).collect().rows()
    if rows:
        return NotedStage(*rows[0])
    return None


def note_instances(run: Run, instances: InstanceSetSpec, ids: list[str]) -> None:
    """Land a set's instance ids in the order of its seeds."""
    note_stage(run, Stage.INSTANCES, _set_name(instances), stage_digest(Stage.INSTANCES, instances), _Ids(ids))


def instance_ids(run: Run, zone: LandingZone, instances: InstanceSetSpec) -> list[str]:
    """Return a set's instance ids in the order of its seeds.

    Raise `UserError` if none have landed.
    """
    noted = noted_stage(zone, run, Stage.INSTANCES, _set_name(instances))
    if noted is None or noted.result_json is None:
        raise UserError(
            f"no instances of bucket {instances.bucket} for plan {run.plan.name} in {run.landing}; "
            "run `carryover stage generate-instances` first"
        )
    return _Ids.model_validate_json(noted.result_json).root


def read_instances(zone: LandingZone, family: StudyFamily, ids: Sequence[str]) -> Iterator[Instance]:
    """Yield a family's landed instances by their ids, one at a time.

    There may be many thousand.
    """
    is_asked = pl.col("instance_id").is_in(sorted(set(ids)))
    items = zone.scan("items").filter(is_asked).group_by("instance_id").agg(items=pl.struct(*ITEM_FIELDS))
    known = zone.scan("instances").filter(is_asked).unique("instance_id")
    rows = known.join(items, on="instance_id", how="left").collect()
    places = {instance_id: place for place, instance_id in enumerate(rows["instance_id"])}
    for instance_id in ids:
        yield family.instance_of_row(rows.row(places[instance_id], named=True))


def _set_name(instances: InstanceSetSpec) -> str:
    return f"{instances.bucket}-{instances.split}-{instances.first_seed}-{instances.count}"
