"""The arms of CaveAgent's studies: one suite under one arm."""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from prefect import task
from prefect.cache_policies import NO_CACHE

from carryover.storage.zone.landing import LandingZone
from carryover.tasks.cave.arms.arm import ARMS, ArmName
from carryover.tasks.cave.arms.oracle import Oracle, script
from carryover.tasks.cave.arms.plan import SuitePlan
from carryover.tasks.cave.arms.play import CaseEpisode, Played, Setting, play
from carryover.tasks.cave.suites.catalogue import SuiteName
from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.services import background
from carryover.tasks.services.folders import open_folders
from carryover.tasks.services.progress import progress_bar
from carryover.tasks.stages.comparisons import missing_case_episodes
from carryover.tasks.traces.rows import Row
from carryover.tasks.traces.vocabulary import FinishReason

BATCH = 48
"""Episodes that land together; a killed run plays at most these again."""


class PlayedCount(NamedTuple):
    """Episodes of a suite under an arm that a run played."""

    played: int
    failed: int
    """Those that an error of the endpoint or the runtime ended: the next run plays them again."""


@task(task_run_name="{suite}-{arm}", cache_policy=NO_CACHE)
def play_suite(plan: SuitePlan, suite: SuiteName, arm: ArmName, run_id: str) -> PlayedCount:
    """Play and land a suite's missing episodes; return their count."""
    failed = 0
    episodes = missing_case_episodes(plan, suite, arm)
    zone = LandingZone(open_folders().landing)
    runtime = open_runtime(ARMS[arm].runtime_spec(plan.spec.runtime))
    setting = Setting(plan.spec, runtime, run_id, plan.digest, plan.scale, plan.concurrency, plan.instruction)
    try:
        with progress_bar(f"{suite}, {arm}", len(episodes), "episodes") as advance:
            for start in range(0, len(episodes), BATCH):
                played = background.wait_for(_play_all(plan, episodes[start : start + BATCH], setting))
                zone.write(_rows_by_table(played), run_id)
                failed += sum(one.recorded.episode.finish_reason == FinishReason.ERROR for one in played)
                advance(len(played))
    finally:
        runtime.close()
    return PlayedCount(len(episodes), failed)


def _rows_by_table(played: Sequence[Played]) -> dict[str, list[Row]]:
    rows: dict[str, list[Row]] = {}
    for episode in played:
        for table, of_episode in episode.rows.items():
            rows.setdefault(table, []).extend(of_episode)
    return rows


async def _play_all(plan: SuitePlan, episodes: list[CaseEpisode], setting: Setting) -> list[Played]:
    client = plan.open_client()
    free = asyncio.Semaphore(plan.concurrency)
    setting = setting._replace(speakers=plan.open_speakers())

    async def play_one(episode: CaseEpisode) -> Played:
        async with free:
            return await play(episode, client or Oracle(script(episode.case, ARMS[episode.arm])), setting)

    return await asyncio.gather(*map(play_one, episodes))
