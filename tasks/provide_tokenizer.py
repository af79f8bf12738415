"""Stage 2: the tokenizer of training; for a model that starts from nothing, learned from teacher conversations."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

from prefect import task

from carryover.tasks.agent.client import open_client
from carryover.tasks.agent.condition import Condition
from carryover.tasks.agent.recorder import RecordedEpisode
from carryover.tasks.agent.shard import PlannedEpisode, run_shard
from carryover.tasks.knapsack.sampling import sample_instance
from carryover.tasks.knapsack.spec import open_bucket
from carryover.tasks.plans.clients import scripted_client
from carryover.tasks.plans.run import Run
from carryover.tasks.plans.spec import StudyPart, teacher_conditions
from carryover.tasks.running.errors import UserError
from carryover.tasks.running.progress import Advance, progress_bar
from carryover.tasks.running.whole_files import written_whole
from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.runtime.protocol import Runtime
from carryover.tasks.sft.spec import TokenizerSpec
from carryover.tasks.sft.tokenizer import build_tokenizer, fetch_tokenizer
from carryover.tasks.traces.rows import FinishReason, TurnRow

SAMPLE_COUNT = 100
"""Instances whose conversations the tokenizer is learned from, under each contract; the traces are much alike."""


@task
def provide_tokenizer(run: Run, part: StudyPart) -> Path:
    """Return the folder of the tokenizer that a part trains with: its base's own, or a new one for a scratch model.

    A new one must be there before the traces are recorded, because scripted episodes are counted with it: so its texts
    come from a sample of the same episodes, played beforehand and not recorded.

    Raises:
        UserError: One of them failed, and a tokenizer of the others would be another one; or the hub does not give the
            tokenizer of the commit that the plan names.
    """
    spec, folder = _learned_tokenizer(part), tokenizer_folder(run, part)
    if spec is not None and not folder.exists():
        with written_whole(folder) as unfinished:
            build_tokenizer(_sample_texts(run, part), spec, unfinished)
    if (revision := part.training.base_revision) is not None:
        return fetch_tokenizer(str(folder), revision)
    return folder


def tokenizer_folder(run: Run, part: StudyPart) -> Path:
    """Return where a part's tokenizer is, or will be once it is learned; a hub id where the base's is not local."""
    if _learned_tokenizer(part) is None:
        return Path(part.training.base_model or "")
    return run.places.datasets / f"tokenizer-{run.plan.digest}-{part.variant}"


def _learned_tokenizer(part: StudyPart) -> TokenizerSpec | None:
    return (part.own_base or part).training.tokenizer


def _sample_texts(run: Run, part: StudyPart) -> Iterator[str]:
    """Yield the texts of teacher conversations, in an order that does not depend on time."""
    count = min(SAMPLE_COUNT, part.train_instances.count)
    bucket = open_bucket(part.train_instances.bucket)
    runtime = open_runtime(run.plan.runtime)
    try:
        for condition in teacher_conditions(part):
            sample = [
                PlannedEpisode(sample_instance(bucket, seed), 0, 0) for seed in part.train_instances.seeds[:count]
            ]
            label = f"tokenizer sample, {condition.runtime_contract}"
            with progress_bar(label, count, "episodes") as advance:
                recorded = asyncio.run(_play(run, part, condition, sample, runtime, label=label, advance=advance))
            for planned in sample:
                yield from _texts(recorded[planned.instance.instance_id])
    finally:
        runtime.close()


async def _play(
    run: Run,
    part: StudyPart,
    condition: Condition,
    sample: list[PlannedEpisode],
    runtime: Runtime,
    *,
    label: str,
    advance: Advance,
) -> dict[str, RecordedEpisode]:
    """Return what the teacher of a condition played, by instance; raise `UserError` where an episode failed."""
    recorded: dict[str, RecordedEpisode] = {}

    def keep(episode: RecordedEpisode) -> None:
        if episode.episode.finish_reason is FinishReason.ERROR:
            raise UserError(f"an episode of the {label} failed: {episode.episode.error_message}")
        recorded[episode.episode.instance_id] = episode
        advance(1)

    client_spec = scripted_client(part)
    async with open_client(client_spec, condition) as client:
        await run_shard(
            sample,
            condition,
            client,
            runtime,
            part.teacher.episode,
            run_id=run.run_id,
            plan_digest=run.plan.digest,
            scale=run.plan.scale,
            places=client_spec.places(),
            check=lambda: None,
            on_recorded=keep,
        )
    return recorded


def _texts(recorded: RecordedEpisode) -> Iterator[str]:
    for turn in recorded.rows["turns"]:
        assert isinstance(turn, TurnRow)
        if turn.turn == 0:
            yield from (message["content"] for message in json.loads(turn.observation or "[]"))
        else:
            yield turn.assistant_text
            yield turn.observation or ""
