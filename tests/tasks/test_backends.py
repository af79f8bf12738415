"""The backend behind the interpreter decides nothing that a table says."""

import asyncio

import pytest

from carryover.tasks.agent.client import EpisodeSlots, ScriptedClientSpec, open_client
from carryover.tasks.agent.episode import PlannedEpisode
from carryover.tasks.agent.shard import run_shard
from carryover.tasks.knapsack.family import KNAPSACK_FAMILY
from carryover.tasks.knapsack.knapsack_spec import KNAPSACK
from carryover.tasks.knapsack.sampling import sample_instance
from carryover.tasks.plans.laptop_full import teacher_episode
from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from tests.flattening import flat
from tests.tasks.agent.playing import make_context, make_scripted_condition

INSTANCES = [sample_instance(KNAPSACK["small"], seed) for seed in range(3)]
TIMES = {"model_seconds", "execution_seconds", "wall_seconds", "seconds", "started_at"}
NAMED_BY_BACKEND = {"backend", "contract_json"}


def play(backend, contract):
    """Return every row of the teacher's episodes on a backend, without times and the backend's own name."""
    condition = make_scripted_condition(contract, bucket="small")
    recorded = {}
    runtime = open_runtime(RuntimeSpec(backend=backend))

    async def run():
        async with open_client(ScriptedClientSpec(), condition, KNAPSACK_FAMILY) as client:
            await run_shard(
                [PlannedEpisode(instance, 0, 0) for instance in INSTANCES],
                make_context(runtime, client, condition, spec=teacher_episode()),
                slots=EpisodeSlots(1),
                check=lambda: None,
                on_recorded=lambda episode: recorded.setdefault(episode.episode.episode_id, episode),
            )

    try:
        asyncio.run(run())
    finally:
        runtime.close()
    return {
        name: [
            row.model_dump(exclude=TIMES | NAMED_BY_BACKEND)
            for row in flat(episode.rows[table] for table in sorted(episode.rows))
        ]
        for name, episode in recorded.items()
    }


@pytest.mark.kernel
@pytest.mark.slow
@pytest.mark.parametrize("contract", ["persistent", "stateless"])
def test_both_backends_record_the_same_rows(contract):
    assert play("jupyter", contract) == play("fork_tree", contract)
