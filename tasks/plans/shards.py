"""Shards: the episodes of one condition, planned."""

import hashlib
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from carryover.tasks.agent.client import ClientSpec, EndpointClientSpec, ScriptedClientSpec
from carryover.tasks.agent.condition import Condition, episode_id
from carryover.tasks.agent.episode_spec import EndpointSpec, EpisodeSpec
from carryover.tasks.plans.identity import Stage, prompts_of, stage_digest
from carryover.tasks.plans.models import StudyModel, base_of, evaluation_conditions, script_conditions
from carryover.tasks.plans.run import Run
from carryover.tasks.plans.study_plan import EvaluationSpec, InstanceSetSpec, StudyPart, TeacherSpec, teacher_conditions
from carryover.tasks.services.frozen_model import FrozenModel
from carryover.tasks.services.hub import expanded
from carryover.tasks.services.source_digest import canonical_json
from carryover.tasks.serving.serving_spec import ServingSpec
from carryover.tasks.sft.folder import base_identity

IDENTIFYING_FILES = ("tokenizer*", "vocab*", "merges*", "special_tokens*", "added_tokens*", "chat_template*")
"""Files of a tokenizer, in a folder that may hold a model too."""
REPLY_SECONDS = 1230.0
"""Reply timeout of a served model: the 12,288 tokens of the paper's plan at ten a second."""


class ShardSpec(FrozenModel):
    """Episodes of one condition, for one task of stage 2 or 5."""

    stage: Stage
    stage_digest: str
    """Identity of what the episodes share; part of their ids, so that equal ones are found in every plan."""
    condition: Condition
    instances: InstanceSetSpec
    episode: EpisodeSpec
    client: ClientSpec
    is_billed: bool = False
    """Whether its tokens cost money also where the plan's own server, which costs nothing, would answer."""
    tokenizer: Path | None = None
    """Counts conversations, too: the training tokens of a scripted or teacher's episode."""
    replicates: int = 1
    first_replicate: int = 0
    maximum_attempts: int | None = None
    """Attempts after which an episode that ended with `error`, while its endpoint was up, is given up."""

    @property
    def name(self) -> str:
        """Key of the shard within its plan."""
        one = self.condition
        shown = f"{one.visibility}-{one.header}"
        return f"{one.variant}-{one.base}-{one.model_name}-on-{one.runtime_contract}-{one.bucket}-{shown}"

    @property
    def identity(self) -> str:
        """Inputs that decide the result of playing it."""
        played = range(self.first_replicate, self.first_replicate + self.replicates)
        return canonical_json([self.stage_digest, self.condition, self.instances, list(played)])

    def episode_id(self, instance_id: str, replicate: int, attempt: int) -> str:
        """Return the id of an episode."""
        return episode_id(self.condition, instance_id, self.stage_digest, replicate, attempt)


def teacher_shards(run: Run, part: StudyPart, tokenizer: Path | None) -> list[ShardSpec]:
    """Return the shards of a part's teacher traces, one per contract."""
    teacher = part.teacher
    client = scripted_client(part)
    if teacher.endpoint is not None:  # replies are kept, so that no answer is paid for twice
        client = EndpointClientSpec(
            endpoint=teacher.endpoint,
            cache=run.home / "teacher_responses",
            asks_anew=Stage.TRACES in run.limits.refresh,
        )
    who = teacher.model_dump(
        mode="json", exclude={"episode": True, "contracts": True, "maximum_attempts": True, "endpoint": {"concurrency"}}
    )
    return [
        ShardSpec(
            stage=Stage.TRACES,
            stage_digest=_digest(
                Stage.TRACES, run, part.train_instances, teacher.episode, who, tokenizer_identity(part, tokenizer)
            ),
            condition=condition,
            instances=part.train_instances,
            episode=teacher.episode,
            client=client,
            tokenizer=tokenizer,
            maximum_attempts=teacher.maximum_attempts,
        )
        for condition in teacher_conditions(part)
    ]


def evaluation_shards(
    run: Run,
    part: StudyPart,
    evaluation: EvaluationSpec,
    models: Sequence[StudyModel],
    *,
    base_url: str,
    serving: ServingSpec | None = None,
) -> list[ShardSpec]:
    """Return the shards of an evaluation: every model, served at `base_url`.

    `serving` says how the models are served where that is not as the plan says.
    Answers of served models are never cached (arXiv 2603.01209, appendix E).
    """
    serving = serving or run.plan.serving
    endpoint = EndpointSpec(
        base_url=base_url,
        api_key_variable=serving.api_key_variable,
        concurrency=serving.max_concurrent,
        request_timeout_seconds=REPLY_SECONDS,
    )
    served = serving.model_dump(mode="json", exclude={"max_concurrent"}), base_of(models).identity
    return [
        ShardSpec(
            stage=Stage.EVALUATION,
            stage_digest=_digest(Stage.EVALUATION, run, evaluation.instances, evaluation.episode, *served),
            condition=condition,
            instances=evaluation.instances,
            episode=evaluation.episode,
            client=EndpointClientSpec(endpoint=endpoint),
            is_billed=serving.url is not None,
            replicates=evaluation.replicates,
        )
        for condition in evaluation_conditions(part, evaluation, models)
    ]


def script_shards(run: Run, part: StudyPart, tokenizer: Path | None) -> list[ShardSpec]:
    """Return a part's shards of the script control.

    It needs no model: the scripts play every evaluation.
    """
    scripted = scripted_identity(part.teacher), tokenizer_identity(part, tokenizer)
    shards = []
    for evaluation in part.evaluations:
        stage_digest = _digest(Stage.TRACES, run, evaluation.instances, evaluation.episode, *scripted)
        shards += [
            ShardSpec(
                stage=Stage.TRACES,
                stage_digest=stage_digest,
                condition=condition,
                instances=evaluation.instances,
                episode=evaluation.episode,
                client=scripted_client(part),
                tokenizer=tokenizer,
                replicates=evaluation.replicates,
            )
            for condition in script_conditions(part, evaluation)
        ]
    return shards


def scripted_client(part: StudyPart) -> ScriptedClientSpec:
    """Return the client of a part's scripted policies."""
    return ScriptedClientSpec(prints_table=part.teacher.prints_table, habits=part.teacher.habits)


def scripted_identity(teacher: TeacherSpec) -> object:
    """Return what of a teacher's spec decides what its script writes."""
    if teacher.habits is None:
        return teacher.prints_table
    return teacher.prints_table, teacher.habits


def tokenizer_identity(part: StudyPart, tokenizer: Path | None) -> str:
    """Return a tokenizer's identity: folder content, or hub model and commit."""
    base = part.training.base_model
    folder = tokenizer
    if base is not None and part.own_base is None:
        folder = Path(expanded(base))
        if not folder.is_dir():
            return base_identity(base, part.training.base_revision)
    if folder is None:
        return "none"
    digest = hashlib.sha256()
    files = chain.from_iterable(map(folder.glob, IDENTIFYING_FILES))
    for file in sorted(files):
        digest.update(file.name.encode() + file.read_bytes())
    return digest.hexdigest()


def _digest(stage: Stage, run: Run, instances: InstanceSetSpec, episode: EpisodeSpec, *player: object) -> str:
    """Return the identity of episodes, with a foreign family's source."""
    source = () if instances.family_source is None else (instances.family_source,)
    return stage_digest(stage, run.plan.scale, run.plan.runtime, episode, prompts_of(episode), player, *source)
