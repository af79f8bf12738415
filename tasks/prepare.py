"""Stage 3: teacher traces checked, gated and turned into training data."""

from pathlib import Path

from prefect import task

from carryover.storage.zone.objects import has_objects
from carryover.tasks.plans.identity import Stage, stage_digest
from carryover.tasks.plans.run import Run
from carryover.tasks.plans.shards import tokenizer_identity
from carryover.tasks.plans.study_plan import StudyPart
from carryover.tasks.stages.caching import StageIdentity, in_run, refreshing_once
from carryover.tasks.stages.stage_results import note_stage
from carryover.tasks.stages.training_data import TrainingData, gate_and_land, trace_ids


def _identify(run: Run, part: StudyPart, tokenizer: Path) -> str:
    """Return the identity of a part's data.

    The ids of its traces count, because rows of the data name them.
    """
    training = part.training.base, part.training.chat_template  # both decide the length of an example
    spec = part.dataset, part.validation, part.variant, part.teacher.contracts, training
    return stage_digest(Stage.DATA, *spec, tokenizer_identity(part, tokenizer), trace_ids(run, part, tokenizer))


@task(task_run_name="data-{part.variant}", cache_policy=StageIdentity(identify=_identify))
def prepare_training_data(run: Run, part: StudyPart, tokenizer: Path) -> TrainingData:
    """Prepare a part's training data; raise `UserError` as `gate_and_land`."""
    return gate_and_land(run, part, tokenizer)


def provide_training_data(run: Run, part: StudyPart, tokenizer: Path) -> TrainingData:
    """Prepare or reuse a part's training data, and note it.

    No cache key sees files: a cached result is made anew where they are gone or changed, here or for other workers.
    """
    run = refreshing_once(run, Stage.DATA, _identify(run, part, tokenizer))
    data = in_run(prepare_training_data, run, Stage.DATA)(run, part, tokenizer)
    if not has_objects(run.folders, data.digests.values()) or data.opened(run.folders).changed_files():
        data = in_run(prepare_training_data, run, Stage.DATA, is_there=False)(run, part, tokenizer)
    note_training_data(run, part, tokenizer, data)
    return data.opened(run.folders)


def note_training_data(run: Run, part: StudyPart, tokenizer: Path, data: TrainingData) -> None:
    """Land that the plan has a part's training data, for the training."""
    note_stage(run, Stage.DATA, part.variant, _identify(run, part, tokenizer), data)
