"""Stage 3 as a flow: data checks, and one dataset per contract."""

from carryover.flows.stage_flows import stage_flow
from carryover.tasks.plans.run import Run
from carryover.tasks.prepare import provide_training_data
from carryover.tasks.provide_tokenizer import open_tokenizer


@stage_flow("data")
def prepare_training(run: Run) -> None:
    """Check a plan's teacher traces and prepare one dataset per contract."""
    for part in run.plan.parts:
        provide_training_data(run, part, open_tokenizer(run, part))
