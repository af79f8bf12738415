"""What a dry run says of a plan's trainings: steps, batch, memory and hours, or the setting that cannot work."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from rich.console import Console

from tasks.plans.estimate import arm_examples, base_examples
from tasks.plans.run import Run
from tasks.plans.spec import OwnBaseSpec, StudyPart, StudyPlan
from tasks.prepare import base_corpus_file, find_training_data, read_training_data
from tasks.provide_tokenizer import find_tokenizer
from tasks.running.places import name_places
from tasks.sft.dry_run import TrainingEstimate, plan_training
from tasks.sft.example_lengths import ExpectedExamples
from tasks.sft.hub import downloaded_tokenizer, is_local
from tasks.sft.spec import TrainingSpec

UNKNOWN_SHAPE = "memory, disk and hours: unknown, as nothing here tells the size of the base model"
"""What is said where a training starts from a model of the hub that we do not know."""


class PlannedTraining(NamedTuple):
    """A training of one contract's data, and what it takes."""

    title: str
    estimate: TrainingEstimate


def plan_trainings(plan: StudyPlan) -> list[PlannedTraining]:
    """Return what every distinct training of a plan takes, bases of its own first, then contract by contract.

    Data that the plan has prepared already are read, and counted with the tokenizer that it learned or a local one.
    Without them likely lengths stand in: Table 5's at paper scale, those of an earlier run at the others.

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


def _plan_base(plan: StudyPlan, part: StudyPart, own_base: OwnBaseSpec, expected: ExpectedExamples) -> PlannedTraining:
    run = _as_run(plan)
    corpus = base_corpus_file(run, part)
    examples = corpus if corpus.exists() else expected
    estimate = plan_training(own_base.training, examples, _local_tokenizer(run, part), seed=own_base.seed)
    title = f"{_name(plan, part, own_base.training)}, the {part.base} base"
    return PlannedTraining(f"{title}: {_say_data(examples)}", estimate)


def _plan_part(plan: StudyPlan, part: StudyPart) -> Iterator[PlannedTraining]:
    run = _as_run(plan)
    prepared = read_training_data(run, part).paths if find_training_data(run, part) is not None else {}
    for contract in part.teacher.contracts:
        examples = prepared.get(contract) or arm_examples(plan.scale, part, contract)
        estimate = plan_training(
            part.training,
            examples,
            _local_tokenizer(run, part),
            seed=part.training_seeds[0],
            base_training=part.own_base.training if part.own_base else None,
        )
        yield PlannedTraining(f"{_name(plan, part, part.training)}, {contract}: {_say_data(examples)}", estimate)


def _say_data(examples: Path | ExpectedExamples) -> str:
    return "the plan's own data" if isinstance(examples, Path) else "its data are not prepared yet"


def _name(plan: StudyPlan, part: StudyPart, training: TrainingSpec) -> str:
    return training.name if len(plan.parts) == 1 else f"{training.name} of part {part.name}"


def _as_run(plan: StudyPlan) -> Run:
    """Return a run that finds what an earlier one of the plan has made, and starts nothing."""
    places = name_places()
    return Run(run_id="dry-run", plan=plan, home=places.home, landing=places.landing, generation="")


def _local_tokenizer(run: Run, part: StudyPart) -> Path | None:
    folder, base = find_tokenizer(run, part), part.training.base_model
    if folder is not None and folder.is_dir():
        return folder
    if base is None or is_local(base):
        return None if base is None else Path(base)
    return downloaded_tokenizer(base, part.training.base_revision)
