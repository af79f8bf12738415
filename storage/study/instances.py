"""The instances of a plan: noted by stage 1, which lands them, and read by every stage after it."""

from collections.abc import Iterator, Sequence

import polars as pl
from pydantic import RootModel

from carryover.storage.study.stages import note_stage, noted_stage
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.knapsack.instance import Instance, Item, instance_of_row
from carryover.tasks.plans.identity import Stage, stage_digest
from carryover.tasks.plans.run import Run
from carryover.tasks.plans.spec import InstanceSetSpec
from carryover.tasks.running.errors import UserError

_Ids = RootModel[list[str]]


def note_instances(run: Run, instances: InstanceSetSpec, ids: list[str]) -> None:
    """Land which instances the plan has of a set: their ids in the order of the set's seeds."""
    note_stage(run, Stage.INSTANCES, _name(instances), stage_digest(Stage.INSTANCES, instances), _Ids(ids))


def instance_ids(run: Run, zone: LandingZone, instances: InstanceSetSpec) -> list[str]:
    """Return the ids of a set's instances in the order of its seeds; raise `UserError` where none have landed."""
    noted = noted_stage(zone, run, Stage.INSTANCES, _name(instances))
    if noted is None or noted.result_json is None:
        raise UserError(
            f"no instances of bucket {instances.bucket} for plan {run.plan.name} in {run.landing}; "
            "run the flow generate_instances first"
        )
    return _Ids.model_validate_json(noted.result_json).root


def read_instances(zone: LandingZone, ids: Sequence[str]) -> Iterator[Instance]:
    """Yield landed instances by their ids, one at a time, since there may be many thousand."""
    is_asked = pl.col("instance_id").is_in(sorted(set(ids)))
    items = zone.scan("items").filter(is_asked).group_by("instance_id").agg(items=pl.struct(*Item.model_fields))
    rows = zone.scan("instances").filter(is_asked).unique("instance_id").join(items, on="instance_id").collect()
    places = {instance_id: place for place, instance_id in enumerate(rows["instance_id"])}
    for instance_id in ids:
        yield instance_of_row(rows.row(places[instance_id], named=True))


def _name(instances: InstanceSetSpec) -> str:
    return f"{instances.bucket}-{instances.split}-{instances.first_seed}-{instances.count}"
