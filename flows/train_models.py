"""Stage 4 as a flow: one model per contract and training seed."""

from collections.abc import Sequence
from pathlib import Path

from carryover.flows.cli.messages import say
from carryover.flows.stage_flows import TRAINING_THREADS, play_side_by_side, stage_flow
from carryover.tasks.plans.models import trained_arms
from carryover.tasks.plans.preflight import check_machine
from carryover.tasks.plans.run import Run
from carryover.tasks.plans.study_plan import StudyPart
from carryover.tasks.provide_tokenizer import open_tokenizer
from carryover.tasks.sft.machine import this_machine
from carryover.tasks.stages.side_by_side import trainings_at_once
from carryover.tasks.stages.training_data import read_training_data
from carryover.tasks.train import PlannedTraining, note_training, plan_training, submit_training, unknown_sizes


@stage_flow("training", tasks_at_once=TRAINING_THREADS)
def train_models(run: Run) -> None:
    """Train one model per contract and training seed.

    Bases first; the models of all parts side by side, as many as GPUs, or memory and processors, hold.
    """
    check_machine(run.plan, run.limits)
    for part in run.plan.parts:
        read_training_data(run, part)  # said before a tokenizer or a base is trained for hours
    for line in unknown_sizes(run.plan.parts):
        say(line)
    tokenizers = [(part, open_tokenizer(run, part)) for part in run.plan.parts]
    _train(run, [_planned_base(run, part, tokenizer) for part, tokenizer in tokenizers if part.own_base is not None])
    _train(run, [planned for part, tokenizer in tokenizers for planned in _planned_models(run, part, tokenizer)])


def _planned_base(run: Run, part: StudyPart, tokenizer: Path | None) -> PlannedTraining:
    assert part.own_base is not None
    return plan_training(run, part, None, part.own_base.seed, tokenizer)


def _planned_models(run: Run, part: StudyPart, tokenizer: Path | None) -> list[PlannedTraining]:
    return [plan_training(run, part, contract, seed, tokenizer) for contract, seed in trained_arms(part)]


def _train(run: Run, planned: Sequence[PlannedTraining]) -> None:
    if not planned:
        return
    trainings = list({each.job.output: each for each in planned}.values())  # parts share bases and models
    at_once = trainings_at_once(run, trainings, this_machine())
    play_side_by_side(run, trainings, at_once, submit_training, note_training)
