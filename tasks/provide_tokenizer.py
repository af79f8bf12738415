"""Stage 2: the tokenizer of training.

For a model that starts from nothing, learned from teacher conversations.
"""

import asyncio
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from prefect import task

from carryover.storage.zone.objects import KeptFolder, find_folder, keep_folder, open_folder
from carryover.tasks.agent.client import open_client
from carryover.tasks.agent.condition import Condition
from carryover.tasks.agent.episode import EpisodeContext, PlannedEpisode
from carryover.tasks.agent.recorder import RecordedEpisode
from carryover.tasks.agent.shard import run_shard
from carryover.tasks.families.choose import choose_family
from carryover.tasks.plans.identity import Stage, prompts_of, stage_digest
from carryover.tasks.plans.run import Run
from carryover.tasks.plans.shards import scripted_client, scripted_identity, tokenizer_identity
from carryover.tasks.plans.study_plan import StudyPart, teacher_conditions
from carryover.tasks.runtime.backend import Runtime
from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.hub import expanded, fetch_tokenizer
from carryover.tasks.services.progress import progress_bar
from carryover.tasks.services.source_digest import canonical_json
from carryover.tasks.services.whole_files import folder_written_whole
from carryover.tasks.sft.tokenizer import build_tokenizer
from carryover.tasks.sft.training_spec import TokenizerSpec
from carryover.tasks.stages.caching import StageIdentity, in_run, refreshing_once
from carryover.tasks.stages.stage_results import instance_ids, note_stage, read_instances, stage_result, zone_of
from carryover.tasks.traces.vocabulary import FinishReason

SAMPLE_COUNT = 100
"""Instances whose conversations the tokenizer is learned from, under each contract; the traces are much alike."""


def _identify(run: Run, part: StudyPart) -> str:
    spec = _learned_tokenizer(part)
    teacher = part.teacher
    instances = part.train_instances
    if spec is None:
        return canonical_json([part.training.base_model, tokenizer_identity(part, None)])
    sample = instances.problems, list(instances.seeds[:SAMPLE_COUNT])
    episode = teacher.episode, prompts_of(teacher.episode)
    played = run.plan.runtime, *episode, teacher.contracts, scripted_identity(teacher)
    return stage_digest(Stage.TOKENIZER, spec, sample, *played, *part.own_among(*teacher.contracts))


@task(task_run_name="tokenizer-{part.variant}", cache_policy=StageIdentity(identify=_identify))
def provide_tokenizer(run: Run, part: StudyPart) -> KeptFolder:
    """Make or find the tokenizer that a part trains with.

    Raise `UserError` as `make_tokenizer`.
    """
    return keep_folder(run.folders, make_tokenizer(run, part))


def make_tokenizer(run: Run, part: StudyPart) -> Path:
    """Return a part's tokenizer folder: its base's, or a new one.

    A new one must be there before the traces are recorded, because scripted episodes are counted with it: so its texts
    come from a sample of the same episodes, played beforehand and not recorded.

    Raises:
        UserError: An episode of the sample failed; a tokenizer of the others would be another one. Or the hub does not
            give the tokenizer of the commit that the plan names.
    """
    spec = _learned_tokenizer(part)
    if spec is None:
        base = part.training.base_model or ""
        revision = part.training.base_revision
        own = Path(expanded(base)).absolute()
        if revision is None or own.is_dir():
            return own
        return fetch_tokenizer(base, revision)
    folder = run.folders.datasets / f"tokenizer-{_identify(run, part)}"
    is_again = Stage.TOKENIZER in run.limits.refresh
    if is_again or not folder.exists():
        with folder_written_whole(folder, replaces=is_again) as unfinished:
            build_tokenizer(_sample_texts(run, part), spec, unfinished)
    return folder


def open_tokenizer(run: Run, part: StudyPart) -> Path:
    """Return a part's tokenizer folder: the plan's, cached or new."""
    run = refreshing_once(run, Stage.TOKENIZER, _identify(run, part))
    noted = stage_result(run, Stage.TOKENIZER, part.variant)
    if noted is not None and Stage.TOKENIZER not in run.limits.refresh:
        folder = find_folder(run.folders, KeptFolder.model_validate_json(noted))
        if folder is not None:
            return folder
    kept = in_run(provide_tokenizer, run, Stage.TOKENIZER)(run, part)
    if find_folder(run.folders, kept) is None:
        kept = in_run(provide_tokenizer, run, Stage.TOKENIZER, is_there=False)(run, part)
    note_stage(run, Stage.TOKENIZER, part.variant, _identify(run, part), kept)
    return open_folder(run.folders, kept)


def _learned_tokenizer(part: StudyPart) -> TokenizerSpec | None:
    return (part.own_base or part).training.tokenizer


def _sample_texts(run: Run, part: StudyPart) -> Iterator[str]:
    """Yield texts of teacher conversations in a reproducible order."""
    zone = zone_of(run)
    ids = instance_ids(run, zone, part.train_instances)[:SAMPLE_COUNT]
    family = choose_family(part.train_instances.family)
    sample = [PlannedEpisode(instance) for instance in read_instances(zone, family, ids)]
    for condition in teacher_conditions(part):
        with closing(open_runtime(run.plan.runtime_under(part.defined(condition.runtime_contract)))) as runtime:
            recorded = asyncio.run(_play(run, part, condition, sample, runtime))
        for planned in sample:
            for turn in recorded[planned.instance.instance_id].turns:
                if turn.turn == 0:
                    yield from (message["content"] for message in json.loads(turn.observation or "[]"))
                else:
                    yield from (turn.assistant_text, turn.observation or "")


async def _play(
    run: Run, part: StudyPart, condition: Condition, sample: list[PlannedEpisode], runtime: Runtime
) -> dict[str, RecordedEpisode]:
    """Return what the teacher of a condition played, by instance.

    Raise `UserError` where an episode failed.
    """
    recorded: dict[str, RecordedEpisode] = {}
    family = choose_family(part.train_instances.family)
    label = f"tokenizer sample, {condition.runtime_contract}"
    client_spec = scripted_client(part)
    with progress_bar(label, len(sample), "episodes") as advance:

        def keep(episode: RecordedEpisode) -> None:
            if episode.episode.finish_reason is FinishReason.ERROR:
                raise UserError(f"an episode of the {label} failed: {episode.episode.error_message}")
            recorded[episode.episode.instance_id] = episode
            advance(1)

        async with open_client(client_spec, condition, family) as client:
            context = EpisodeContext(
                family=family,
                condition=condition,
                client=client,
                runtime=runtime,
                spec=part.teacher.episode,
                run_id=run.run_id,
                plan_digest=run.plan.digest,
                stage_digest=_identify(run, part),
                scale=run.plan.scale,
            )
            await run_shard(sample, context, slots=client_spec.slots(), check=lambda: None, on_recorded=keep)
    return recorded
