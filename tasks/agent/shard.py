"""Many episodes of one condition, a bounded number at a time."""

import asyncio
import gc
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from carryover.tasks.agent.client import EpisodeSlots
from carryover.tasks.agent.episode import EpisodeContext, PlannedEpisode, run_episode
from carryover.tasks.agent.recorder import RecordedEpisode
from carryover.tasks.services.environment import processor_count


async def run_shard(
    planned: Iterable[PlannedEpisode],
    context: EpisodeContext,
    *,
    slots: EpisodeSlots,
    check: Callable[[], None],
    on_recorded: Callable[[RecordedEpisode], None],
) -> None:
    """Run episodes on `slots`, and hand each to `on_recorded` as it ends.

    Memory does not grow with the number of episodes: `planned` is drawn from as slots come free. Other shards may
    share the slots: an episode's time begins when it has its own. `check` is called before each start. When it raises,
    no further episode starts, those alive end and are handed over, and its error is raised here. An error of an
    episode itself (a contract violation) does the same; one that still has its rows (a reply that cannot be kept) is
    handed over, too.
    """
    waiting = iter(planned)
    failures: list[Exception] = []

    async def work() -> None:
        while True:
            async with slots:
                episode = None if failures else next(waiting, None)
                if episode is None:
                    return
                try:
                    check()
                    recorded = await run_episode(context, episode)
                    if recorded.stop is not None:
                        failures.append(recorded.stop)
                    on_recorded(recorded)
                    del recorded  # its rows, before the wait for the next episode
                except Exception as error:  # noqa: BLE001 - raised below, once the episodes beside it have ended
                    failures.append(error)

    gc.freeze()  # what lives already, libraries above all: every batch of rows would set off a collection of it
    try:
        with (
            ThreadPoolExecutor(slots.count, thread_name_prefix="episode") as blocks,
            ThreadPoolExecutor(processor_count(), thread_name_prefix="opening") as openings,
        ):
            context = replace(context, block_threads=blocks, opening_threads=openings, concurrency=slots.count)
            await asyncio.gather(*(work() for _ in range(slots.count)))
    finally:
        gc.unfreeze()
    if failures:
        raise failures[0]
