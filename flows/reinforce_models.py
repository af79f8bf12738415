"""Stage 4b as a flow: GRPO from trained models, in a runtime."""

from itertools import product

from carryover.flows.stage_flows import interruptible, stage_flow
from carryover.tasks.plans.run import Run
from carryover.tasks.reinforce import note_reinforcement, plan_reinforcement, submit_reinforcement
from carryover.tasks.sft.machine import this_machine
from carryover.tasks.stages.side_by_side import side_by_side


@stage_flow("reinforcement")
def reinforce_models(run: Run) -> None:
    """Reinforce a plan's trained models by GRPO, two at a time where memory holds two."""
    for part in run.plan.parts:
        if part.reinforcement is None:
            continue
        arms = product(part.training_seeds, part.teacher.contracts)
        planned = [plan_reinforcement(run, part, contract, seed) for seed, contract in arms]
        for group in side_by_side(run, planned, this_machine()):
            futures = [submit_reinforcement(run, each) for each in group]
            with interruptible(run.run_id, futures):
                for each, future in zip(group, futures, strict=True):
                    note_reinforcement(run, each, future.result())
