import asyncio
import hashlib
import json
from itertools import product

from carryover.tasks.agent.episode import PlannedEpisode, run_episode
from carryover.tasks.agent.episode_spec import EpisodeSpec
from carryover.tasks.agent.faults import FaultSpec
from carryover.tasks.knapsack.instance import instance_rows
from carryover.tasks.knapsack.knapsack_spec import KNAPSACK
from carryover.tasks.knapsack.sampling import sample_instance
from carryover.tasks.knapsack.teachers.open import open_teacher
from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.traces.rows import Row
from tests.flattening import flat
from tests.tasks.agent.playing import make_context, make_scripted_condition

VOLATILE = {"run_id", "started_at", "wall_seconds", "model_seconds", "execution_seconds", "seconds"}


def digest_of_a_run(run_id, *, concurrency):
    """Sample instances and play them with the teacher; return the digest of every row but times and run."""
    instances = [sample_instance(KNAPSACK["easy"], seed) for seed in range(4)]
    runtime = open_runtime(RuntimeSpec())

    async def play_all():
        gate = asyncio.Semaphore(concurrency)

        async def play(instance, contract):
            condition = make_scripted_condition(contract, split="evaluation")
            async with gate:
                return await run_episode(
                    make_context(
                        runtime,
                        open_teacher("easy", contract),
                        condition,
                        spec=EpisodeSpec(faults=FaultSpec(rate=0.5), varies_wording=True),
                        run_id=run_id,
                    ),
                    PlannedEpisode(instance),
                )

        pairs = list(product(instances, ("persistent", "stateless")))
        return await asyncio.gather(*(play(*pair) for pair in pairs))

    recorded = asyncio.run(play_all())
    runtime.close()
    rows: list[Row] = []
    for instance in instances:
        instance_row, item_rows = instance_rows(instance, run_id, "evaluation")
        rows += [instance_row, *item_rows]
    for episode in recorded:
        rows += flat(episode.rows.values())
    content = [json.dumps(row.model_dump(mode="json", exclude=VOLATILE), sort_keys=True) for row in rows]
    return hashlib.sha256("\n".join(content).encode()).hexdigest()


def test_runs_are_byte_identical_under_other_load():
    assert digest_of_a_run("one", concurrency=1) == digest_of_a_run("two", concurrency=4)
