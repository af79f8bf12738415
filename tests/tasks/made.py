"""Stage results made and noted in this process, without Prefect."""

from pathlib import Path

from carryover.tasks.generate import generate_instance_set
from carryover.tasks.plans.run import Run
from carryover.tasks.plans.study_plan import InstanceSetSpec, StudyPart
from carryover.tasks.prepare import note_training_data, prepare_training_data
from carryover.tasks.stages.stage_results import note_instances
from carryover.tasks.stages.training_data import TrainingData


def make_instances(run: Run, instance_set: InstanceSetSpec) -> None:
    note_instances(run, instance_set, generate_instance_set.fn(run, instance_set))


def make_training_data(run: Run, part: StudyPart, tokenizer: Path) -> TrainingData:
    data = prepare_training_data.fn(run, part, tokenizer)
    note_training_data(run, part, tokenizer, data)
    return data
