"""Stages 2 and 5: the episodes of one condition."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing

from prefect import task

from carryover.storage.zone.batching import BatchedLanding
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.agent.client import open_client
from carryover.tasks.agent.episode import EpisodeContext, PlannedEpisode
from carryover.tasks.agent.protocol import EndpointDownError, NoReplyError
from carryover.tasks.agent.recorder import RecordedEpisode
from carryover.tasks.agent.shard import run_shard
from carryover.tasks.families.choose import StudyFamily, choose_family
from carryover.tasks.plans.run import Run
from carryover.tasks.plans.shards import ShardSpec
from carryover.tasks.runtime.backend import Runtime
from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.frozen_model import FrozenModel
from carryover.tasks.services.hub import load_tokenizer
from carryover.tasks.services.limits import Meter, Spent, check_uninterrupted
from carryover.tasks.services.progress import Advance
from carryover.tasks.sft.tokenizer import TokenCounter
from carryover.tasks.stages.attempts import EpisodePlace, landed_episode_ids, missing_episodes
from carryover.tasks.stages.caching import StageIdentity
from carryover.tasks.stages.progress import shown_progress
from carryover.tasks.stages.spending import is_billed, share_meter
from carryover.tasks.stages.stage_results import note_reuse, note_stage, read_instances, zone_of
from carryover.tasks.traces.vocabulary import FinishReason

FAILURES_IN_A_ROW = 10
"""Episodes in a row that may fail for an endpoint, or twice as many as are played at a time where that is more."""
_FAILURES_OF_AN_ENDPOINT = (EndpointDownError.__name__, NoReplyError.__name__)


class Collected(FrozenModel):
    """Outcome of a condition's episodes; small enough to be a task's result."""

    planned_count: int
    """Episodes that the plan asks for."""
    played_count: int = 0
    """Episodes played now; the others had landed before."""
    error_count: int = 0
    """Of those played now, how many ended with `error`: they stay as attempts and run again on the next start."""
    given_up_count: int = 0
    """Of those that ended with `error`, how many had their last attempt and do not run again."""
    first_error: str | None = None
    """Message of the first of them."""


@task(
    task_run_name="{shard.name}",
    cache_policy=StageIdentity(identify=lambda run, shard: shard.identity),
)
def collect_episodes(run: Run, shard: ShardSpec) -> Collected:
    """Play and land a shard's missing episodes.

    What has landed is the truth, so a killed run goes on where it stopped, and a finished one plays nothing.

    Raises:
        LimitReachedError: The plan's tokens or money are spent; what was played has landed.
        ContractViolationError: An interpreter broke its contract; the episode is left out and the study stops.
        InterruptedRunError: The run is interrupted; what was played has landed.
        UserError: The endpoint is down; what was played has landed, and no further episode is tried.
    """
    check_uninterrupted(run.run_id)
    zone = zone_of(run)
    missing = missing_episodes(run, zone, shard, plays_again=shard.stage in run.limits.refresh)
    planned_count = shard.instances.count * shard.replicates
    if not missing:
        return Collected(planned_count=planned_count)
    keeper = _play(run, zone, shard, missing)
    given_up_count = 0
    if keeper.errors and shard.maximum_attempts is not None:  # every other episode of those played has landed
        given_up_count = len(keeper.errors) - len(missing_episodes(run, zone, shard))
    return Collected(
        planned_count=planned_count,
        played_count=len(missing),
        error_count=len(keeper.errors),
        given_up_count=given_up_count,
        first_error=keeper.errors[0] if keeper.errors else None,
    )


def is_collected(run: Run, shard: ShardSpec) -> bool:
    """Tell whether every episode of a shard has landed."""
    return not missing_episodes(run, zone_of(run), shard)


def note_episodes(run: Run, shard: ShardSpec) -> None:
    """Record which episodes a plan has and reuses."""
    zone = zone_of(run)
    note_stage(run, shard.stage, shard.name, shard.stage_digest)
    note_reuse(run, zone, landed_episode_ids(run, zone, shard))


class _Keeper:
    """Lands episodes as they end; stops the shard at a limit."""

    def __init__(self, run: Run, shard: ShardSpec, meter: Meter, batch: BatchedLanding, advance: Advance) -> None:
        self.errors: list[str] = []
        self._run_id = run.run_id
        self._meter = meter
        self._batch = batch
        self._advance = advance
        self._is_billed = is_billed(run, shard)
        self._failures_in_a_row = 0
        self._most_failures = max(FAILURES_IN_A_ROW, 2 * shard.client.concurrency)

    def check(self) -> None:
        """Raise an interruption or limit before another episode starts."""
        check_uninterrupted(self._run_id)
        self._meter.check(is_billed=self._is_billed)

    async def land_regularly(self) -> None:
        """Land what has ended every few seconds, until cancelled."""
        await self._batch.land_regularly()

    def keep(self, recorded: RecordedEpisode) -> None:
        """Land an episode and its cost; raise `UserError` after many endpoint failures."""
        row = recorded.episode
        self._batch.add(recorded.rows)
        self._meter.add(_spent(recorded), is_billed=self._is_billed)
        if row.finish_reason is FinishReason.ERROR:
            self.errors.append(row.error_message or "no message")
        self._advance(1)
        is_down = any(error.error_type in _FAILURES_OF_AN_ENDPOINT for error in recorded.errors)
        self._failures_in_a_row = self._failures_in_a_row + 1 if is_down else 0
        if self._failures_in_a_row >= self._most_failures:
            raise UserError(
                f"endpoint unavailable: {self._failures_in_a_row} consecutive episodes failed ({row.error_message}); "
                "progress is saved; run again when it responds"
            )


def _spent(recorded: RecordedEpisode) -> Spent:
    """Return an endpoint's tokens: no script's, and no replayed reply's."""
    if recorded.episode.token_source != "server":
        return Spent()
    turns = [turn for turn in recorded.turns if not turn.is_replayed]
    return Spent(*(sum(getattr(turn, kind) for turn in turns) for kind in Spent._fields))


def _play(run: Run, zone: LandingZone, shard: ShardSpec, missing: Sequence[EpisodePlace]) -> _Keeper:
    """Play episodes and land them, batch after batch."""
    condition = shard.condition
    label = f"{condition.variant}, {condition.model_name} on {condition.runtime_contract}, {condition.bucket}"
    spec = run.plan.runtime_under(condition.defined(condition.runtime_contract))
    family = choose_family(shard.instances.family)
    planned = _planned(zone, family, missing)
    meter = share_meter(run, zone, shard)
    with shown_progress(label, len(missing), "episodes") as advance, BatchedLanding(zone, run.run_id) as batch:
        keeper = _Keeper(run, shard, meter, batch, advance)
        with closing(open_runtime(spec)) as runtime:
            try:
                asyncio.run(_play_all(run, shard, planned, family=family, runtime=runtime, keeper=keeper))
            except Exception as error:
                meter.stop(error)
                raise
    return keeper


def _planned(zone: LandingZone, family: StudyFamily, missing: Sequence[EpisodePlace]) -> Iterator[PlannedEpisode]:
    instances = read_instances(zone, family, [place.instance_id for place in missing])
    for instance, place in zip(instances, missing, strict=True):
        yield PlannedEpisode(instance, place.replicate, place.attempt)


async def _play_all(
    run: Run,
    shard: ShardSpec,
    planned: Iterable[PlannedEpisode],
    *,
    family: StudyFamily,
    runtime: Runtime,
    keeper: _Keeper,
) -> None:
    count_tokens = None
    if shard.tokenizer is not None:
        count_tokens = TokenCounter(load_tokenizer(shard.tokenizer))
    async with open_client(shard.client, shard.condition, family, count_tokens) as client:
        context = EpisodeContext(
            family=family,
            condition=shard.condition,
            client=client,
            runtime=runtime,
            spec=shard.episode,
            run_id=run.run_id,
            plan_digest=run.plan.digest,
            stage_digest=shard.stage_digest,
            scale=run.plan.scale,
            count_tokens=count_tokens,
        )
        landing = asyncio.create_task(keeper.land_regularly())
        try:
            await run_shard(planned, context, slots=shard.client.slots(), check=keeper.check, on_recorded=keeper.keep)
        finally:
            landing.cancel()
