"""An hour of episodes under both contracts with faults: nothing grows, no turn costs more, every row lands once.

CARRYOVER_SOAK_SECONDS=120 pytest -m long -s tests/tasks/test_soak.py
"""

import asyncio
import itertools
import os
import random
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import pytest

from carryover.storage.warehouse.merger import merge
from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.zone.batching import BatchedLanding
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.agent.client import EpisodeSlots
from carryover.tasks.agent.episode import PlannedEpisode
from carryover.tasks.agent.episode_spec import EpisodeSpec
from carryover.tasks.agent.faults import FaultSpec
from carryover.tasks.agent.protocol import Completion, CompletionRequest, NoReplyError
from carryover.tasks.agent.recorder import RecordedEpisode
from carryover.tasks.agent.scripted import ScriptedModel
from carryover.tasks.agent.shard import run_shard
from carryover.tasks.knapsack.instance import Instance
from carryover.tasks.knapsack.knapsack_spec import KNAPSACK
from carryover.tasks.knapsack.sampling import sample_instance
from carryover.tasks.knapsack.teachers.open import open_teacher
from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.runtime.process.descendants import descendants
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.traces.vocabulary import PAPER_CONTRACTS, ContractName
from tests.benchmarks.harness.measuring import proportional_bytes
from tests.tasks.agent.playing import make_context, make_scripted_condition

SECONDS = float(os.environ.get("CARRYOVER_SOAK_SECONDS", "3600"))
EPISODES_AT_ONCE = 8
INSTANCES = 40
EPISODES_PER_SAMPLE = 20
GROWTH, SLACK_BYTES, SLACK_DESCRIPTORS = 1.1, 16e6, 16
"""The last third of the samples may hold that much more than the first: caches fill, episodes differ."""
DEARER = 1.2
"""Processor time of a turn in the last third over the first; other work on the machine changed latency by six."""
NO_REPLY_SHARE, DEATH_SHARE = 0.005, 0.02
DEADLY = "I end the process.\n\n```python\nimport os\n\nos._exit(1)\n```"


class FaultyTeacher:
    """The teacher, but some requests get no reply, and some replies end the interpreter's process."""

    token_source: Any = "training_tokenizer"
    model_name = "scripted"

    def __init__(self, teacher: ScriptedModel) -> None:
        self._teacher = teacher

    async def complete(self, request: CompletionRequest) -> Completion:
        draw = random.Random(f"{request.episode_id} {len(request.messages)}").random()
        if draw < NO_REPLY_SHARE:
            raise NoReplyError("no reply")
        written = [message for message in request.messages if "os._exit" not in message.content]
        completion = await self._teacher.complete(request._replace(messages=tuple(written)))
        return completion._replace(text=DEADLY) if draw > 1 - DEATH_SHARE else completion


class Sample(NamedTuple):
    """What was held when an episode ended, and what the turns since the last sample took."""

    host_bytes: int
    sandbox_bytes: int
    descriptor_count: int
    process_count: int
    turn_processor_seconds: float
    """Of this process and its sandboxes."""


class Watch:
    """Samples the process every few episodes; counts rows. The episodes of both contracts are noted in it."""

    def __init__(self, processor_seconds: Callable[[], float]) -> None:
        self.samples: list[Sample] = []
        self.rows = Counter[str]()
        self.reasons = Counter[str]()
        self._lock, self._clock, self._begun = Lock(), processor_seconds, processor_seconds()
        self._turns: list[int] = []

    def note(self, recorded: RecordedEpisode) -> None:
        with self._lock:
            self.rows.update({table: len(rows) for table, rows in recorded.rows.items()})
            self.reasons[recorded.episode.finish_reason] += 1
            self._turns.append(recorded.episode.turn_count)
            if len(self._turns) == EPISODES_PER_SAMPLE:
                cost, processes = (self._clock() - self._begun) / sum(self._turns), descendants(os.getpid())
                held = (resident_bytes(), proportional_bytes(processes), len(os.listdir("/proc/self/fd")))  # noqa: PTH208
                self.samples.append(Sample(*held, len(processes), cost))
                self._turns, self._begun = [], self._clock()  # without the cost of looking


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def planned(instances: list[Instance], until: float) -> Iterator[PlannedEpisode]:
    for replicate in itertools.count():
        for instance in instances:
            if time.monotonic() > until:
                return
            yield PlannedEpisode(instance, replicate)


def play(contract: ContractName, folder: Path, until: float, watch: Watch) -> None:
    """Play episodes of a contract with half of the places, and land them."""
    runtime = open_runtime(RuntimeSpec())
    instances = [sample_instance(KNAPSACK["small"], seed) for seed in range(INSTANCES)]
    condition = make_scripted_condition(contract, bucket="small", split="evaluation")
    context = make_context(
        runtime,
        FaultyTeacher(open_teacher("small", contract)),
        condition,
        spec=EpisodeSpec(faults=FaultSpec(), prompt_set="compact"),
        run_id=contract,
    )
    with BatchedLanding(LandingZone(folder), contract) as landing:

        def keep(recorded: RecordedEpisode) -> None:
            landing.add(recorded.rows)
            watch.note(recorded)

        slots = EpisodeSlots(EPISODES_AT_ONCE // len(PAPER_CONTRACTS))
        shard = run_shard(planned(instances, until), context, slots=slots, check=lambda: None, on_recorded=keep)
        asyncio.run(shard)
    runtime.close()


def growth(samples: list[Sample], what: str) -> tuple[float, float]:
    """Return the medians of the first and of the last third."""
    values, third = [getattr(sample, what) for sample in samples], len(samples) // 3
    return statistics.median(values[:third]), statistics.median(values[-third:])


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.timeout(SECONDS + 1800)
def test_episodes_with_faults_keep_memory_descriptors_and_cost_flat(tmp_path, processor_seconds):
    before = set(descendants(os.getpid()))
    watch, until = Watch(processor_seconds), time.monotonic() + SECONDS
    with ThreadPoolExecutor(len(PAPER_CONTRACTS)) as contracts:
        list(contracts.map(lambda contract: play(contract, tmp_path / "landing", until, watch), PAPER_CONTRACTS))
    medians = {what: growth(watch.samples, what) for what in Sample._fields}
    print(f"\n{dict(watch.reasons)}, {dict(watch.rows)}, {len(watch.samples)} samples\n{medians}")
    for what in ("host_bytes", "sandbox_bytes"):
        assert medians[what][1] <= GROWTH * medians[what][0] + SLACK_BYTES, what
    for what in ("descriptor_count", "process_count"):
        assert medians[what][1] <= medians[what][0] + SLACK_DESCRIPTORS, what
    assert medians["turn_processor_seconds"][1] <= DEARER * medians["turn_processor_seconds"][0]
    assert watch.reasons["error"] > 0
    assert set(descendants(os.getpid())) <= before
    zone = LandingZone(tmp_path / "landing")
    assert {table: zone.read(table).num_rows for table in watch.rows} == watch.rows
    merge(tmp_path / "landing", tmp_path / "warehouse.duckdb")
    with Warehouse.open(tmp_path / "warehouse.duckdb") as warehouse:
        merged = {table: warehouse.sql(f"select count(*) from {table}").rows()[0][0] for table in watch.rows}
        (faults,) = warehouse.sql("select sum(injected_fault_count) > 0 from episodes").rows()
    assert merged == watch.rows
    assert faults == (True,)
