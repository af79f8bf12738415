"""Stage 1: instances."""

from collections.abc import Sequence

from prefect import task

from carryover.storage.zone.landing import LandingZone
from carryover.tasks.families.choose import choose_family
from carryover.tasks.plans.identity import Stage, stage_digest
from carryover.tasks.plans.run import Run
from carryover.tasks.plans.study_plan import InstanceSetSpec
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.progress import progress_bar
from carryover.tasks.stages.caching import StageIdentity, in_run
from carryover.tasks.stages.stage_results import note_instances
from carryover.tasks.traces.rows import InstanceRow, ItemRow


@task(
    task_run_name="instances-{instance_set.bucket}-for-{instance_set.split}",
    cache_policy=StageIdentity(identify=lambda run, instance_set: stage_digest(Stage.INSTANCES, instance_set)),
)
def generate_instance_set(run: Run, instance_set: InstanceSetSpec) -> list[str]:
    """Sample, validate and land the instances of a set.

    Return their ids in the order of its seeds.
    """
    family = choose_family(instance_set.family)
    instances: list[InstanceRow] = []
    items: list[ItemRow] = []
    label = f"instances, {instance_set.bucket} for {instance_set.split}"
    with progress_bar(label, instance_set.count, "instances") as advance:
        for seed in instance_set.seeds:
            instance = family.sample(instance_set.bucket, seed)
            family.validate(instance)
            instance_row, item_rows = family.rows(instance, run.run_id, instance_set.split)
            instances.append(instance_row)
            items += item_rows
            advance(1)
    ids = [row.instance_id for row in instances]
    _check_distinct(instance_set, ids)
    LandingZone(run.landing).write({"instances": instances, "items": items}, run.run_id)
    return ids


def _check_distinct(instance_set: InstanceSetSpec, ids: Sequence[str]) -> None:
    """Raise `UserError` for seeds that give an instance twice."""
    distinct = len(set(ids))
    if distinct == len(ids):
        return
    option = "--train-count" if instance_set.split == "train" else "--evaluation-count"
    raise UserError(
        f"family {instance_set.family}, bucket {instance_set.bucket}: {len(ids)} seeds give {distinct} distinct "
        f"instances for {instance_set.split}, each is drawn once; let sample() draw from more, or lower {option}"
    )


def provide_instances(run: Run, instance_set: InstanceSetSpec) -> None:
    """Land a set's instances, or reuse equal ones, and note them."""
    ids = in_run(generate_instance_set, run, Stage.INSTANCES)(run, instance_set)
    note_instances(run, instance_set, ids)
