"""Stage 4b as a flow: GRPO from trained models, in a runtime."""

from carryover.flows.stage_flows import TRAINING_THREADS, play_side_by_side, stage_flow
from carryover.tasks.plans.models import trained_arms
from carryover.tasks.plans.run import Run
from carryover.tasks.reinforce import note_reinforcement, plan_reinforcement, submit_reinforcement
from carryover.tasks.sft.machine import this_machine
from carryover.tasks.stages.side_by_side import trainings_at_once


@stage_flow("reinforcement", tasks_at_once=TRAINING_THREADS)
def reinforce_models(run: Run) -> None:
    """Reinforce a plan's trained models by GRPO, as many at a time as memory and processors hold."""
    for part in run.plan.parts:
        if part.reinforcement is None:
            continue
        planned = [plan_reinforcement(run, part, contract, seed) for contract, seed in trained_arms(part)]
        at_once = trainings_at_once(run, planned, this_machine())
        play_side_by_side(run, planned, at_once, submit_reinforcement, note_reinforcement)
