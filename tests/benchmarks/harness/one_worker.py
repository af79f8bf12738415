"""A worker of the growth benchmark: `python -m tests.benchmarks.harness.one_worker ADDRESS FOLDER FIRST COUNT PLACES`.

It warms up, says that it is ready, begins with the next line on its standard input, and plays `COUNT` Easy episodes.
"""

import asyncio
import sys
from pathlib import Path

from carryover.storage.zone.batching import BatchedLanding
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.agent.client import EpisodeSlots
from carryover.tasks.agent.condition import Condition
from carryover.tasks.agent.episode import PlannedEpisode
from carryover.tasks.agent.episode_spec import EndpointSpec
from carryover.tasks.agent.openai_client import OpenAIClient
from carryover.tasks.agent.shard import run_shard
from carryover.tasks.knapsack.instance import Instance
from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.traces.vocabulary import ContractName
from tests.benchmarks.harness.playing import make_instances
from tests.tasks.agent.playing import make_context


def main(base_url: str, folder: Path, first: int, count: int, places: int) -> None:
    """Play instances from `first` on, so many side by side, and land the episodes."""
    run_id, instances = f"worker-{first}", make_instances(first + count)[first:]
    runtime = open_runtime(RuntimeSpec())
    client = OpenAIClient(EndpointSpec(base_url=base_url, concurrency=places), "simulated")
    condition = Condition(
        purpose="evaluation",
        base="hub",
        model_name="simulated",
        runtime_contract=ContractName("persistent"),
        bucket="easy",
        split="evaluation",
    )
    context = make_context(runtime, client, condition, run_id=run_id, scale="paper")

    async def play(landing: BatchedLanding, replicate: int, planned: list[Instance]) -> None:
        await run_shard(
            (PlannedEpisode(instance, replicate) for instance in planned),
            context,
            slots=EpisodeSlots(places),
            check=lambda: None,
            on_recorded=lambda recorded: landing.add(recorded.rows),
        )

    async def play_twice() -> None:
        with BatchedLanding(LandingZone(folder), run_id) as landing:
            await play(landing, 1, instances[:places])
        print("ready", flush=True)
        sys.stdin.readline()
        with BatchedLanding(LandingZone(folder), run_id) as landing:
            await play(landing, 0, instances)
        await client.close()

    asyncio.run(play_twice())
    runtime.close()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *map(int, sys.argv[3:]))
