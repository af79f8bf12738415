"""Stages 2 and 4: the episodes of one condition, by a teacher or by a trained model."""

import asyncio
from collections.abc import Coroutine, Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol

from prefect import task
from pydantic import BaseModel, ConfigDict

from carryover.storage.study.attempts import EpisodePlace, missing_episodes
from carryover.storage.study.spending import share_meter
from carryover.storage.zone.batching import BatchedLanding
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.agent.client import ClientSpec, EndpointClientSpec, open_client
from carryover.tasks.agent.condition import Condition
from carryover.tasks.agent.protocol import EndpointDownError, NoReplyError
from carryover.tasks.agent.recorder import RecordedEpisode
from carryover.tasks.agent.shard import PlannedEpisode, run_shard
from carryover.tasks.agent.spec import EpisodeSpec
from carryover.tasks.knapsack.sampling import sample_instance
from carryover.tasks.knapsack.spec import open_bucket
from carryover.tasks.plans.run import Run
from carryover.tasks.plans.spec import InstanceSetSpec
from carryover.tasks.running.errors import UserError
from carryover.tasks.running.interruption import check_uninterrupted
from carryover.tasks.running.limits import Spent
from carryover.tasks.running.progress import progress_bar
from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.sft.tokenizer import TokenCounter, load_tokenizer
from carryover.tasks.traces.rows import FinishReason

FAILURES_IN_A_ROW = 10
"""Episodes in a row that may fail for an endpoint, or twice as many as are played at a time where that is more."""
_FAILURES_OF_AN_ENDPOINT = (EndpointDownError.__name__, NoReplyError.__name__)


class Collected(BaseModel):
    """What came of a condition's episodes; small enough to be a task's result."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    planned_count: int
    """Episodes that the plan asks for."""
    played_count: int
    """Episodes played now; the others had landed before."""
    error_count: int
    """Of those played now, how many ended with `error`: they stay as attempts and run again on the next start."""
    given_up_count: int = 0
    """Of those that ended with `error`, how many had their last attempt and do not run again."""
    first_error: str | None = None
    """What the first of them says."""


@task(task_run_name="{condition.variant}-{condition.model_name}-on-{condition.runtime_contract}-{instances.bucket}")
def collect_episodes(
    run: Run,
    condition: Condition,
    *,
    instances: InstanceSetSpec,
    episode: EpisodeSpec,
    client: ClientSpec,
    tokenizer: Path | None = None,
    replicates: int = 1,
    maximum_attempts: int | None = None,
) -> Collected:
    """Play and land every episode of a condition that has not landed yet.

    What has landed is the truth, so a killed run goes on where it stopped, and a finished one plays nothing. With a
    `tokenizer` the conversations are counted by it, too: the training tokens of a teacher's episode. With
    `maximum_attempts` an episode that ended with `error` so many times, while its endpoint was up, is played no more.

    Raises:
        LimitReachedError: The plan's tokens or money are spent; what was played has landed.
        ContractViolationError: An interpreter broke its contract; the episode is left out and the study stops.
        InterruptedRunError: The run is interrupted; what was played has landed.
        UserError: The endpoint is down; what was played has landed, and no further episode is tried.
    """
    check_uninterrupted(run.run_id)
    zone = LandingZone(run.landing)
    missing = missing_episodes(run, zone, condition, instances, replicates, maximum_attempts=maximum_attempts)
    total = instances.count * replicates
    if not missing:
        return Collected(planned_count=total, played_count=0, error_count=0)
    meter = share_meter(run, zone)
    errors: list[str] = []
    is_billed = isinstance(client, EndpointClientSpec) and run.plan.is_billed(condition.purpose)
    outage = Outage(max(FAILURES_IN_A_ROW, 2 * client.concurrency))
    label = f"{condition.variant}, {condition.model_name} on {condition.runtime_contract}, {condition.bucket}"
    count_tokens = None if tokenizer is None else TokenCounter(load_tokenizer(tokenizer))
    with (
        progress_bar(label, len(missing), "episodes") as advance,
        BatchedLanding(zone, run.run_id) as batch,
    ):
        runtime = open_runtime(run.plan.runtime)

        def check() -> None:
            check_uninterrupted(run.run_id)
            meter.check(is_billed=is_billed)

        def keep(recorded: RecordedEpisode) -> None:
            row = recorded.episode
            batch.add(recorded.rows)
            meter.add(_spent(recorded), is_billed=is_billed)
            if row.finish_reason is FinishReason.ERROR:
                errors.append(row.error_message or "no message")
            advance(1)
            if isinstance(client, EndpointClientSpec):
                outage.note(recorded)

        async def play() -> None:
            async with open_client(client, condition, count_tokens) as model:
                await run_shard(
                    _sampled(instances, missing),
                    condition,
                    model,
                    runtime,
                    episode,
                    run_id=run.run_id,
                    plan_digest=run.plan.digest,
                    scale=run.plan.scale,
                    places=client.places(),
                    check=check,
                    on_recorded=keep,
                    count_tokens=count_tokens,
                )

        try:
            asyncio.run(land_beside(batch, play()))
        except Exception as error:
            meter.stop(error)
            raise
        finally:
            runtime.close()
    given_up_count = 0
    if errors and maximum_attempts is not None:  # every other episode of those played has landed
        left = missing_episodes(run, zone, condition, instances, replicates, maximum_attempts=maximum_attempts)
        given_up_count = len(errors) - len(left)
    return Collected(
        planned_count=total,
        played_count=len(missing),
        error_count=len(errors),
        given_up_count=given_up_count,
        first_error=errors[0] if errors else None,
    )


class Outage:
    """Counts episodes in a row that an endpoint answered nothing to."""

    def __init__(self, limit: int) -> None:
        """Allow fewer than `limit` of them."""
        self._limit = limit
        self._count = 0

    def note(self, recorded: RecordedEpisode) -> None:
        """Count an episode, or begin anew with one that ended otherwise.

        Raises:
            UserError: They are too many: the endpoint is down, and episodes would be spent on it for nothing.
        """
        is_down = any(error.error_type in _FAILURES_OF_AN_ENDPOINT for error in recorded.errors)
        self._count = self._count + 1 if is_down else 0
        if self._count >= self._limit:
            raise UserError(
                f"{self._count} episodes in a row failed for the endpoint ({recorded.episode.error_message}); "
                "everything so far is kept, start again when it answers"
            )


class RegularLanding(Protocol):
    """Lands what is old until it is cancelled."""

    async def land_regularly(self) -> None:
        """Land what is old, again and again."""
        ...


async def land_beside(batch: RegularLanding, shard: Coroutine[Any, Any, None]) -> None:
    """Run a shard and land what is old beside it."""
    landing = asyncio.create_task(batch.land_regularly())
    try:
        await shard
    finally:
        landing.cancel()


def _sampled(instances: InstanceSetSpec, places: Iterable[EpisodePlace]) -> Iterator[PlannedEpisode]:
    spec = open_bucket(instances.bucket)
    for place in places:
        yield PlannedEpisode(sample_instance(spec, place.seed), place.replicate, place.attempt)


def _spent(recorded: RecordedEpisode) -> Spent:
    """Return what an endpoint was asked for: nothing by a scripted policy, and no reply twice."""
    if recorded.episode.token_source != "server":
        return Spent()
    turns = [turn for turn in recorded.turns if not turn.is_replayed]
    return Spent(*(sum(getattr(turn, kind) for turn in turns) for kind in Spent._fields))
