"""Stage 1: instances."""

from prefect import task

from carryover.storage.zone.landing import LandingZone
from carryover.tasks.knapsack.instance import instance_rows
from carryover.tasks.knapsack.sampling import sample_instance
from carryover.tasks.knapsack.spec import open_bucket
from carryover.tasks.knapsack.validate import validate
from carryover.tasks.plans.run import Run
from carryover.tasks.plans.spec import InstanceSetSpec
from carryover.tasks.running.progress import progress_bar
from carryover.tasks.running.source_digest import stage_key
from carryover.tasks.traces.rows import Row


@task(cache_key_fn=stage_key("generate_instances", 1, ("carryover.tasks.knapsack",)), persist_result=True)
def generate_instance_set(run: Run, instance_set: InstanceSetSpec) -> int:
    """Sample, validate and land the instances of a set; return how many."""
    spec = open_bucket(instance_set.bucket)
    rows: dict[str, list[Row]] = {"instances": [], "items": []}
    label = f"instances, {instance_set.bucket} for {instance_set.split}"
    with progress_bar(label, instance_set.count, "instances") as advance:
        for seed in instance_set.seeds:
            instance = sample_instance(spec, seed)
            validate(instance)
            instance_row, item_rows = instance_rows(instance, run.run_id, instance_set.split)
            rows["instances"].append(instance_row)
            rows["items"] += item_rows
            advance(1)
    LandingZone(run.landing).write(rows, run.run_id)
    return instance_set.count
