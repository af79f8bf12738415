"""Many episodes of one condition, a bounded number at a time."""

import asyncio
import gc
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Literal, NamedTuple

from carryover.tasks.agent.condition import Condition
from carryover.tasks.agent.course import EpisodeThreads
from carryover.tasks.agent.loop import CountTokens, StoppedEpisodeError, run_episode
from carryover.tasks.agent.protocol import ModelClient
from carryover.tasks.agent.recorder import RecordedEpisode
from carryover.tasks.agent.slots import Places
from carryover.tasks.agent.spec import EpisodeSpec
from carryover.tasks.knapsack.instance import Instance
from carryover.tasks.running.environment import processor_count
from carryover.tasks.runtime.protocol import Runtime


class PlannedEpisode(NamedTuple):
    """An episode that is still to be run."""

    instance: Instance
    replicate: int
    attempt: int


async def run_shard(
    planned: Iterable[PlannedEpisode],
    condition: Condition,
    client: ModelClient,
    runtime: Runtime,
    spec: EpisodeSpec,
    *,
    run_id: str,
    plan_digest: str,
    scale: Literal["smoke", "laptop", "paper", "import"],
    places: Places,
    check: Callable[[], None],
    on_recorded: Callable[[RecordedEpisode], None],
    count_tokens: CountTokens | None = None,
) -> None:
    """Run episodes, each on one of `places`, and hand each to `on_recorded` as it ends.

    Memory does not grow with the number of episodes: `planned` is drawn from as places come free. Other shards may
    share the places: an episode's time begins when it has its own. `check` is called
    before each start; when it raises, no further episode starts, those alive end and are handed over, and its error is
    raised here. An error of an episode itself (a contract violation) does the same; one
    that still has its rows (a reply that cannot be kept) is handed over, too.
    """
    waiting = iter(planned)
    failures: list[BaseException] = []

    async def work(threads: EpisodeThreads) -> None:
        is_over = False
        while not is_over:
            async with places:
                episode = None if failures else next(waiting, None)
                is_over = episode is None
                if episode is not None:
                    await play(episode, threads)

    async def play(episode: PlannedEpisode, threads: EpisodeThreads) -> None:
        try:
            check()
            try:
                recorded = await run_episode(
                    episode.instance,
                    condition,
                    client,
                    runtime,
                    spec,
                    run_id=run_id,
                    plan_digest=plan_digest,
                    scale=scale,
                    replicate=episode.replicate,
                    attempt=episode.attempt,
                    count_tokens=count_tokens,
                    threads=threads,
                )
            except StoppedEpisodeError as stopped:
                failures.append(stopped.__cause__ or stopped)
                recorded = stopped.recorded
            on_recorded(recorded)
        except Exception as error:  # noqa: BLE001 - raised below, once the episodes beside it have ended
            failures.append(error)

    with (
        _heap_set_aside(),
        ThreadPoolExecutor(places.count, thread_name_prefix="episode") as blocks,
        ThreadPoolExecutor(processor_count(), thread_name_prefix="opening") as openings,
    ):
        await asyncio.gather(*(work(EpisodeThreads(blocks, openings)) for _ in range(places.count)))
    if failures:
        raise failures[0]


@contextmanager
def _heap_set_aside() -> Iterator[None]:
    """Spare what lives already, libraries above all, from garbage collection: every batch of rows would set off one."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
