"""Stage 2 as a flow: paired teacher traces and the script control."""

from carryover.flows.stage_flows import collect_shards, stage_flow
from carryover.tasks.plans.preflight import check_teachers
from carryover.tasks.plans.run import Run
from carryover.tasks.plans.shards import script_shards, teacher_shards
from carryover.tasks.provide_tokenizer import open_tokenizer


@stage_flow("traces")
def collect_traces(run: Run) -> None:
    """Collect paired teacher traces, and scripts beside each evaluated cell."""
    check_teachers(run.plan)
    for part in run.plan.parts:
        tokenizer = open_tokenizer(run, part)
        collect_shards(run, teacher_shards(run, part, tokenizer))
        collect_shards(run, script_shards(run, part, tokenizer))
