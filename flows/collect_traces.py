"""Stage 2 as a flow: paired teacher traces under both contracts."""

from carryover.flows.stage_flows import collect_shards, stage_flow
from carryover.tasks.plans.preflight import check_teachers
from carryover.tasks.plans.run import Run
from carryover.tasks.plans.shards import teacher_shards
from carryover.tasks.provide_tokenizer import open_tokenizer


@stage_flow("traces")
def collect_traces(run: Run) -> None:
    """Collect paired teacher traces of a plan, on the same instances under both contracts."""
    check_teachers(run.plan)
    for part in run.plan.parts:
        collect_shards(run, teacher_shards(run, part, open_tokenizer(run, part)))
