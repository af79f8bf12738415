"""Stage 1: instances."""

from prefect import task

from storage.landing import LandingZone
from tasks.knapsack.instance import instance_rows
from tasks.knapsack.sampling import sample_instance
from tasks.knapsack.spec import open_bucket
from tasks.knapsack.validate import validate
from tasks.plans.run import Run
from tasks.plans.spec import InstanceSetSpec
from tasks.running.progress import progress_bar
from tasks.running.source_digest import stage_key
from tasks.traces.rows import Row


@task(cache_key_fn=stage_key("generate_instances", 1, ("tasks.knapsack",)), persist_result=True)
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
