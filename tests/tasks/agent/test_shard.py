import asyncio
import functools
import gc
import os
import threading
import time

import pytest

from carryover.tasks.agent.client import EpisodeSlots
from carryover.tasks.agent.condition import Condition
from carryover.tasks.agent.episode import PlannedEpisode
from carryover.tasks.agent.protocol import Completion
from carryover.tasks.agent.shard import run_shard
from carryover.tasks.knapsack.knapsack_spec import KNAPSACK
from carryover.tasks.knapsack.sampling import sample_instance
from carryover.tasks.runtime.contract import CONTRACTS
from carryover.tasks.runtime.results import BlockResult
from carryover.tasks.services.environment import processor_count
from carryover.tasks.traces.vocabulary import ContractName, TokenSource
from tests.tasks.agent.playing import make_context

INSTANCES = [sample_instance(KNAPSACK["small"], seed) for seed in range(6)]
CONDITION = Condition(
    purpose="evaluation",
    model_name="model",
    runtime_contract=ContractName.STATELESS,
    bucket="small",
    split="evaluation",
)


class FinishingModel:
    """Finishes in its first turn, and counts the episodes that are alive; waits until some were alive together."""

    model_name = "model"
    token_source: TokenSource = "server"

    def __init__(self, together=1):
        self._together = together
        self.alive = 0
        self.most_alive = 0
        self._lock = threading.Lock()

    async def complete(self, request):
        with self._lock:
            self.alive += 1
            self.most_alive = max(self.most_alive, self.alive)
        deadline = time.monotonic() + 60
        while self.most_alive < self._together and time.monotonic() < deadline:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.02)
        with self._lock:
            self.alive -= 1
        return Completion("I am done.\n```python\nfinish()\n```", "stop", 10, 0, 5, 0.01)


class MeetingInterpreter:
    """Its block ends, and with it the episode, when as many others run."""

    contract = CONTRACTS["stateless"]
    events = ()

    def __init__(self, meeting, finish):
        self._meeting = meeting
        self._finish = finish

    def verify_contract(self):
        return True

    def run_block(self, code):
        self._meeting.wait()
        self._finish()
        return BlockResult("", None, None, (), (), (), "kept", None, (), 0.0)

    def close(self):
        pass


class MeetingRuntime:
    """Opens interpreters whose blocks wait for each other."""

    backend = "fork_tree"
    sandbox_level = "none"

    def __init__(self, expected):
        self._meeting = threading.Barrier(expected, timeout=60)

    def open_interpreter(self, contract, tools, **_):
        return MeetingInterpreter(self._meeting, tools["finish"])


def run(runtime, *, concurrency=1, slots=None, check=lambda: None, on_recorded, model=None, instances=INSTANCES):
    asyncio.run(
        run_shard(
            (PlannedEpisode(instance, 0, 0) for instance in instances),
            make_context(runtime, model or FinishingModel(), CONDITION),
            slots=slots or EpisodeSlots(concurrency),
            check=check,
            on_recorded=on_recorded,
        )
    )


def test_episodes_are_handed_over_once_within_the_slots(runtime):
    recorded, model = [], FinishingModel(together=3)
    run(runtime, concurrency=3, on_recorded=recorded.append, model=model)
    assert sorted(one.episode.instance_id for one in recorded) == sorted(one.instance_id for one in INSTANCES)
    assert model.most_alive == 3
    assert {one.episode.concurrency for one in recorded} == {3}


def test_shards_side_by_side_share_their_slots(runtime):
    slots, recorded, model = EpisodeSlots(3), [], FinishingModel(together=3)
    shard = functools.partial(run, runtime, slots=slots, on_recorded=recorded.append, model=model)
    threads = [threading.Thread(target=shard) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(recorded) == 2 * len(INSTANCES)
    assert model.most_alive == 3


def test_episodes_are_drawn_as_slots_come_free(runtime):
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

    run(runtime, concurrency=2, on_recorded=count, instances=draw(), model=FinishingModel(together=2))
    assert handed_over == 6
    assert max(ahead) == 2


class CountingRuntime(MeetingRuntime):
    """Counts the interpreters that open at the same time."""

    def __init__(self):
        super().__init__(expected=1)
        self._lock = threading.Lock()
        self._opening = 0
        self.most_opening = 0

    def open_interpreter(self, contract, tools, **_):
        with self._lock:
            self._opening += 1
            self.most_opening = max(self.most_opening, self._opening)
        time.sleep(0.01)
        with self._lock:
            self._opening -= 1
        return super().open_interpreter(contract, tools)


def test_concurrently_opening_interpreters_are_bounded_by_processors():
    runtime, recorded = CountingRuntime(), []
    run(runtime, concurrency=40, on_recorded=recorded.append, instances=INSTANCES * 8)
    assert len(recorded) == 48
    assert runtime.most_opening <= processor_count()


def test_a_shard_runs_where_the_system_tells_of_no_affinity(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    recorded = []
    run(MeetingRuntime(1), concurrency=1, on_recorded=recorded.append, instances=INSTANCES[:1])
    assert len(recorded) == 1


def test_blocks_that_run_long_hold_up_no_other_episode():
    many = 40  # more than the threads that an event loop has of its own, on any machine
    recorded = []
    run(MeetingRuntime(many), concurrency=many, on_recorded=recorded.append, instances=INSTANCES[:1] * many)
    assert [one.episode.finish_reason for one in recorded] == ["finish_tool"] * many


def test_failed_check_stops_new_starts_only(runtime):
    started, recorded = 0, []

    def check():
        nonlocal started
        if started == 2:
            raise RuntimeError("the limit is reached")
        started += 1

    with pytest.raises(RuntimeError, match="the limit is reached"):
        run(runtime, concurrency=3, check=check, on_recorded=recorded.append)
    assert len(recorded) == 2


def test_failed_handover_stops_new_starts_only(runtime):
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


def test_what_lived_before_a_shard_is_collected_again_after_it(runtime):
    set_aside = []
    run(runtime, concurrency=2, on_recorded=lambda _: set_aside.append(gc.get_freeze_count()))
    assert min(set_aside) > 0
    assert gc.get_freeze_count() == 0
