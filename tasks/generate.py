"""Stage 1: instances."""

from prefect import task

from carryover.storage.zone.landing import LandingZone
from carryover.tasks.families.choose import choose_family
from carryover.tasks.plans.identity import Stage, stage_digest
from carryover.tasks.plans.run import Run
from carryover.tasks.plans.study_plan import InstanceSetSpec
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
    LandingZone(run.landing).write({"instances": instances, "items": items}, run.run_id)
    return [row.instance_id for row in instances]


def provide_instances(run: Run, instance_set: InstanceSetSpec) -> None:
    """Land a set's instances, or reuse equal ones, and note them."""
    ids = in_run(generate_instance_set, run, Stage.INSTANCES)(run, instance_set)
    note_instances(run, instance_set, ids)
