"""What a dry run says of a plan's trainings: steps, batch, memory and hours, or the setting that cannot work."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from rich.console import Console

from tasks.plans.estimate import ExampleEstimate, arm_examples, base_examples
from tasks.plans.run import Run
from tasks.plans.spec import OwnBaseSpec, StudyPart, StudyPlan
from tasks.prepare import data_file, read_training_data
from tasks.running.places import name_places
from tasks.sft.conversations import Conversation, TrainingMessage, write_conversations
from tasks.sft.dry_run import CHARACTERS_PER_TOKEN, TEMPLATE_TOKENS, TrainingEstimate, plan_training
from tasks.sft.spec import TrainingSpec

UNKNOWN_SHAPE = "memory, disk and hours: unknown until there is a base model, whose shape decides them"
"""What is said where a training starts from a model that is not here, such as a base of the study's own."""
STAND_IN = "examples as long as an earlier laptop run's"
"""What an estimate rests on where no data are prepared and none are published."""


class PlannedTraining(NamedTuple):
    """A training of one contract's data, and what it takes."""

    title: str
    estimate: TrainingEstimate


def plan_trainings(plan: StudyPlan) -> list[PlannedTraining]:
    """Return what every distinct training of a plan takes, bases of its own first, then contract by contract.

    Data that the plan has prepared already are read. Without them the published counts stand in at paper scale, and
    examples of the mean length of an earlier run at the others.

    Raises:
        UserError: A setting of a training cannot work; the message names it, its value and the way out.
    """
    parts: dict[tuple, StudyPart] = {}
    bases: dict[tuple, PlannedTraining] = {}
    for part in plan.parts:
        counts = tuple((contract, arm_examples(plan.scale, part, contract)) for contract in part.teacher.contracts)
        parts.setdefault((part.training, counts), part)
        if part.own_base is not None:
            examples = base_examples(plan.scale, part, part.own_base)
            if (key := (part.own_base.training, examples)) not in bases:
                bases[key] = _plan_base(plan, part, part.own_base, examples)
    return [*bases.values(), *(planned for part in parts.values() for planned in _plan_part(plan, part))]


def print_trainings(console: Console, trainings: list[PlannedTraining]) -> None:
    """Print trainings with one figure per line."""
    for training in trainings:
        console.print(f"\ntraining {training.title}", style="bold", markup=False)
        for line in training.estimate.lines():
            console.print(f"  {line}", markup=False, soft_wrap=True)
        if not training.estimate.hours:
            console.print(f"  {UNKNOWN_SHAPE}", markup=False, soft_wrap=True)


def _plan_base(plan: StudyPlan, part: StudyPart, own_base: OwnBaseSpec, examples: ExampleEstimate) -> PlannedTraining:
    title = f"{_name(plan, part, own_base.training)}, the {part.base} base: {STAND_IN}"
    return PlannedTraining(title, _plan_stand_in(own_base.training, examples))


def _plan_part(plan: StudyPlan, part: StudyPart) -> Iterator[PlannedTraining]:
    prepared = _prepared(plan, part)
    model = part.training.base_model
    tokenizer = model if model is not None and Path(model).is_dir() else None
    for contract in part.teacher.contracts:
        title = f"{_name(plan, part, part.training)}, {contract}"
        if prepared or plan.scale == "paper":
            basis = "the plan's own data" if prepared else "the paper's data"
            seed = part.training_seeds[0]
            estimate = plan_training(part.training, prepared.get(contract), tokenizer, contract=contract, seed=seed)
        else:
            basis = STAND_IN
            estimate = _plan_stand_in(part.training, arm_examples(plan.scale, part, contract))
        yield PlannedTraining(f"{title}: {basis}", estimate)


def _name(plan: StudyPlan, part: StudyPart, training: TrainingSpec) -> str:
    return training.name if len(plan.parts) == 1 else f"{training.name} of part {part.name}"


def _plan_stand_in(training: TrainingSpec, examples: ExampleEstimate) -> TrainingEstimate:
    """Plan a training on conversations that have the mean number of tokens when their characters are counted."""
    text = "x" * round((examples.mean_tokens - 2 * TEMPLATE_TOKENS) * CHARACTERS_PER_TOKEN)
    messages = (TrainingMessage(role="user", content=""), TrainingMessage(role="assistant", content=text))
    with tempfile.TemporaryDirectory() as folder:
        stand_in = Path(folder) / "examples.jsonl"
        write_conversations(stand_in, [Conversation(messages=messages)] * examples.example_count)
        return plan_training(training, stand_in)


def _prepared(plan: StudyPlan, part: StudyPart) -> dict[str, Path]:
    """Return a part's training data by contract; empty where none are prepared."""
    places = name_places()
    run = Run(run_id="dry-run", plan=plan, home=places.home, landing=places.landing, generation="")
    return read_training_data(run, part).paths if data_file(run, part).exists() else {}
