"""Small models for CaveAgent's studies, trained and served."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from prefect import task
from prefect.cache_policies import NO_CACHE

from carryover.tasks.cave.arms.arm import ARMS, ArmName
from carryover.tasks.cave.arms.lessons import LEARNING_ARMS, TRAINING_SPEC, lessons
from carryover.tasks.cave.arms.plan import SuitePlan
from carryover.tasks.datasets.conversations import Conversation, write_conversations
from carryover.tasks.services.folders import open_folders
from carryover.tasks.services.frozen_model import FrozenModel
from carryover.tasks.services.source_digest import canonical_json
from carryover.tasks.services.whole_files import folder_written_whole
from carryover.tasks.serving.server import open_server
from carryover.tasks.serving.serving_spec import ServedModels, ServingSpec
from carryover.tasks.sft.tokenizer import build_tokenizer
from carryover.tasks.sft.train import TrainingJob
from carryover.tasks.sft.train_process import train_in_process

_CONTEXT_TOKENS = 4096
"""Twice the longest conversation of a model that makes no mistake."""
_TOKENIZER_SAMPLE = 200
"""Conversations of each arm that the tokenizer is learned from."""


class Prepared(FrozenModel):
    """Training data of the arms' models."""

    digest: str
    tokenizer: Path
    datasets: dict[ArmName, Path]


@task(cache_policy=NO_CACHE)
def prepare_lessons(held_out_seed: int) -> Prepared:
    """Write each learnt arm's dataset, and their shared tokenizer."""
    folders = open_folders()
    learned = {arm: lessons(arm, held_out_seed) for arm in LEARNING_ARMS}
    content = [TRAINING_SPEC, [[one.template_messages() for one in each] for each in learned.values()]]
    digest = hashlib.sha256(canonical_json(content).encode()).hexdigest()[:16]
    folders.datasets.mkdir(parents=True, exist_ok=True)
    datasets: dict[ArmName, Path] = {arm: folders.datasets / f"cave-{arm}-{digest}.jsonl" for arm in learned}
    for arm, conversations in learned.items():
        write_conversations(datasets[arm], conversations)
    tokenizer = folders.datasets / f"tokenizer-cave-{digest}"
    if not tokenizer.exists():
        _learn_tokenizer(learned.values(), tokenizer)
    return Prepared(digest=digest, tokenizer=tokenizer, datasets=datasets)


def _learn_tokenizer(conversations: Iterable[Sequence[Conversation]], folder: Path) -> None:
    """Learn the arms' tokenizer from conversations of each arm evenly."""
    assert TRAINING_SPEC.tokenizer is not None
    texts = []
    for arm in conversations:
        stride = max(1, len(arm) // _TOKENIZER_SAMPLE)
        for one in arm[::stride]:
            texts += [message.content for message in one.messages]
    with folder_written_whole(folder) as unfinished:
        build_tokenizer(texts, TRAINING_SPEC.tokenizer, unfinished)


@task(task_run_name="training-{arm}", cache_policy=NO_CACHE)
def train_arm(arm: ArmName, prepared: Prepared) -> Path:
    """Return the folder of an arm's model.

    A finished training is reused, and a killed one resumes.
    """
    job = TrainingJob(
        spec=TRAINING_SPEC,
        dataset=prepared.datasets[arm],
        output=open_folders().models / f"cave-{arm}-{prepared.digest}",
        contract=ARMS[arm].contract,
        seed=0,
        tokenizer=prepared.tokenizer,
    )
    return train_in_process(job).path


@contextmanager
def served_plans(plan: SuitePlan, folders: dict[ArmName, Path]) -> Iterator[dict[ArmName, SuitePlan]]:
    """Yield the plan with the endpoint of each arm's model.

    Without trained models, the plan itself.
    """
    spec = ServingSpec(context_tokens=_CONTEXT_TOKENS, max_concurrent=plan.concurrency)
    log = open_folders().logs / "serving-arms.log"
    plans = dict.fromkeys(plan.arms, plan)
    with ExitStack() as servers:
        for arm, folder in folders.items():
            models = ServedModels(base=str(folder), base_name=plan.model)
            url = servers.enter_context(open_server(spec, models, log)).base_url
            plans[arm] = plan.model_copy(update={"endpoint_url": url})
        yield plans
