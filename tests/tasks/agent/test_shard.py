import asyncio
from typing import Literal

import pytest

from tasks.agent.condition import Condition
from tasks.agent.protocol import Completion
from tasks.agent.shard import PlannedEpisode, run_shard
from tasks.agent.spec import EpisodeSpec
from tasks.knapsack.sampling import sample_instance
from tasks.knapsack.spec import KNAPSACK

INSTANCES = [sample_instance(KNAPSACK["small"], seed) for seed in range(6)]
CONDITION = Condition(
    purpose="evaluation", model_name="model", runtime_contract="stateless", bucket="small", split="evaluation"
)


class FinishingModel:
    """Finishes in its first turn, and counts the episodes that are alive."""

    model_name = "model"
    token_source: Literal["server", "training_tokenizer"] = "server"

    def __init__(self):
        self.alive = 0
        self.most_alive = 0

    async def complete(self, request):
        self.alive += 1
        self.most_alive = max(self.most_alive, self.alive)
        await asyncio.sleep(0.02)
        self.alive -= 1
        return Completion("I am done.\n```python\nfinish()\n```", "stop", 10, 0, 5, 0.01)


def run(runtime, *, concurrency, check=lambda: None, on_recorded, model=None, instances=INSTANCES):
    asyncio.run(
        run_shard(
            (PlannedEpisode(instance, 0, 0) for instance in instances),
            CONDITION,
            model or FinishingModel(),
            runtime,
            EpisodeSpec(),
            run_id="run",
            plan_digest="plan",
            scale="smoke",
            concurrency=concurrency,
            check=check,
            on_recorded=on_recorded,
        )
    )


def test_every_episode_is_handed_over_once_and_no_more_are_alive_than_allowed(runtime):
    recorded, model = [], FinishingModel()
    run(runtime, concurrency=3, on_recorded=recorded.append, model=model)
    assert sorted(one.episode.instance_id for one in recorded) == sorted(one.instance_id for one in INSTANCES)
    assert 1 < model.most_alive <= 3


def test_episodes_are_drawn_as_places_come_free(runtime):
    drawn, handed_over, ahead = 0, 0, []

    def draw():
        nonlocal drawn
        for instance in INSTANCES:
            drawn += 1
            ahead.append(drawn - handed_over)
            yield instance

    def count(_):
        nonlocal handed_over
        handed_over += 1

    run(runtime, concurrency=2, on_recorded=count, instances=draw())
    assert handed_over == 6
    assert max(ahead) == 2


def test_an_error_of_the_check_stops_new_starts_and_those_alive_end(runtime):
    started, recorded = 0, []

    def check():
        nonlocal started
        if started == 2:
            raise RuntimeError("the limit is reached")
        started += 1

    with pytest.raises(RuntimeError, match="the limit is reached"):
        run(runtime, concurrency=3, check=check, on_recorded=recorded.append)
    assert len(recorded) == 2


def test_an_error_while_handing_over_stops_new_starts_and_those_alive_end(runtime):
    started, seen = 0, []

    def check():
        nonlocal started
        started += 1

    def fail_first(recorded):
        seen.append(recorded)
        if len(seen) == 1:
            raise OSError("no space left on device")

    with pytest.raises(OSError, match="no space left"):
        run(runtime, concurrency=2, check=check, on_recorded=fail_first)
    assert len(seen) == started
    assert started < len(INSTANCES)
