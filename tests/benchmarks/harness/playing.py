"""Six-turn Easy episodes of the scripted teacher, sandboxed, recorded and landed: what the benchmarks measure."""

import asyncio
import itertools
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from carryover.storage.zone.batching import BatchedLanding
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.agent.client import EpisodeSlots
from carryover.tasks.agent.condition import Condition
from carryover.tasks.agent.episode import EpisodeContext, PlannedEpisode, run_episode
from carryover.tasks.agent.recorder import RecordedEpisode
from carryover.tasks.agent.scripted import ScriptedModel
from carryover.tasks.agent.shard import run_shard
from carryover.tasks.knapsack.environment import KnapsackEnvironment
from carryover.tasks.knapsack.instance import Instance
from carryover.tasks.knapsack.knapsack_spec import KNAPSACK
from carryover.tasks.knapsack.sampling import sample_instance
from carryover.tasks.knapsack.teachers.habits import FIXED_ON_EASY
from carryover.tasks.knapsack.teachers.open import open_teacher
from carryover.tasks.runtime.backend import Runtime
from carryover.tasks.runtime.contract import CONTRACTS
from tests.tasks.agent.playing import make_context, make_scripted_condition

TURNS = 6
INSPECTIONS_PER_TURN = 6
"""With a budget of 25 to 30: five turns of inspection and one of taking."""


def make_instances(count: int) -> list[Instance]:
    """Return Easy instances that the teacher plays in six turns."""
    sampled = (sample_instance(KNAPSACK["easy"], seed) for seed in itertools.count())
    budgets = range(4 * INSPECTIONS_PER_TURN + 1, 5 * INSPECTIONS_PER_TURN + 1)
    return list(itertools.islice((one for one in sampled if one.inspection_budget in budgets), count))


def plan(instances: Iterable[Instance], replicates: int = 1) -> Iterable[PlannedEpisode]:
    """Yield every instance's episodes, one replicate after the other."""
    instances = list(instances)
    return (PlannedEpisode(one, replicate, 0) for replicate, one in product(range(replicates), instances))


def play(
    runtime: Runtime,
    planned: Iterable[PlannedEpisode],
    contract: str,
    folder: Path,
    *,
    concurrency: int,
    on_recorded: Callable[[RecordedEpisode], None] = lambda recorded: None,
) -> None:
    """Play episodes as a shard does, and land them in batches."""
    with BatchedLanding(LandingZone(folder), "run") as landing:

        def land(recorded: RecordedEpisode) -> None:
            landing.add(recorded.rows)
            on_recorded(recorded)

        shard = run_shard(
            planned,
            _context(runtime, contract),
            slots=EpisodeSlots(concurrency),
            check=lambda: None,
            on_recorded=land,
        )
        asyncio.run(shard)


def play_in_one_thread(runtime: Runtime, instances: Iterable[Instance], contract: str, folder: Path) -> None:
    """Play episodes one by one without leaving the event loop's thread, so that one profile sees everything."""
    thread = _SameThread()
    context = replace(_context(runtime, contract), block_threads=thread, opening_threads=thread)

    async def play_all(landing: BatchedLanding) -> None:
        for instance in instances:
            landing.add((await run_episode(context, PlannedEpisode(instance))).rows)

    with BatchedLanding(LandingZone(folder), "run") as landing:
        asyncio.run(play_all(landing))


def record_blocks(runtime: Runtime, instances: list[Instance], contract: str, folder: Path) -> dict[str, list[str]]:
    """Return the blocks of each instance's episode by its id."""
    blocks = {}

    def keep(recorded: RecordedEpisode) -> None:
        blocks[recorded.episode.instance_id] = [step.code for step in recorded.steps]

    play(runtime, plan(instances), contract, folder, concurrency=1, on_recorded=keep)
    assert {len(codes) for codes in blocks.values()} == {TURNS}
    return blocks


def run_bare(runtime: Runtime, instances: list[Instance], contract: str, blocks: dict[str, list[str]]) -> None:
    """Run the same blocks with the same tools, and nothing else."""
    for instance in instances:
        interpreter = runtime.open_interpreter(
            CONTRACTS[contract], KnapsackEnvironment(instance).tools, instance_id=instance.instance_id
        )
        for code in blocks[instance.instance_id]:
            interpreter.run_block(code)
        interpreter.close()


def _context(runtime: Runtime, contract: str) -> EpisodeContext:
    return make_context(runtime, _teacher(contract), _condition(contract))


def _condition(contract: str) -> Condition:
    return make_scripted_condition(contract, split="evaluation")


def _teacher(contract: str) -> ScriptedModel:
    return open_teacher(
        "easy", contract, habits=FIXED_ON_EASY.model_copy(update={"inspected_per_turn": INSPECTIONS_PER_TURN})
    )


class _SameThread(ThreadPoolExecutor):
    """Runs what it is given at once, where it is given."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **keywords: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(fn(*args, **keywords))
        return future
