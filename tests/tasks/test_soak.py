"""An hour of episodes under both contracts with faults: nothing grows, nothing slows down, every row lands once.

CARRYOVER_SOAK_SECONDS=120 pytest -m long -s tests/tasks/test_soak.py
"""

import asyncio
import itertools
import os
import random
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from carryover.storage.warehouse.merger import merge
from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.zone.batching import BatchedLanding
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.agent.client import EpisodeSlots
from carryover.tasks.agent.condition import Condition
from carryover.tasks.agent.course import EpisodeContext, PlannedEpisode
from carryover.tasks.agent.faults import FaultSpec
from carryover.tasks.agent.protocol import Completion, CompletionRequest, NoReplyError
from carryover.tasks.agent.recorder import RecordedEpisode
from carryover.tasks.agent.shard import run_shard
from carryover.tasks.agent.spec import EpisodeSpec
from carryover.tasks.agent.teachers.open import ScriptedTeacher, open_teacher
from carryover.tasks.knapsack.instance import Instance
from carryover.tasks.knapsack.sampling import sample_instance
from carryover.tasks.knapsack.spec import KNAPSACK
from carryover.tasks.running.contract_name import PAPER_CONTRACTS, ContractName
from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.runtime.process.descendants import descendants
from carryover.tasks.runtime.spec import RuntimeSpec
from tests.benchmarks.harness.measuring import proportional_bytes

SECONDS = float(os.environ.get("CARRYOVER_SOAK_SECONDS", "3600"))
EPISODES_AT_ONCE = 8
INSTANCES = 40
EPISODES_PER_SAMPLE = 10
GROWTH, SLACK_BYTES, SLACK_DESCRIPTORS = 1.1, 16e6, 16
"""The last third of the samples may hold that much more than the first: caches fill, episodes differ."""
SLOWDOWN = 2.0
"""Episodes of the last third over those of the first, each against a process started beside it."""
NO_REPLY_SHARE, DEATH_SHARE = 0.005, 0.02
DEADLY = "I end the process.\n\n```python\nimport os\n\nos._exit(1)\n```"


class FaultyTeacher:
    """The teacher, but some requests get no reply, and some replies end the interpreter's process."""

    token_source: Any = "training_tokenizer"
    model_name = "scripted"

    def __init__(self, teacher: ScriptedTeacher) -> None:
        self._teacher = teacher

    async def complete(self, request: CompletionRequest) -> Completion:
        draw = random.Random(f"{request.episode_id} {len(request.messages)}").random()
        if draw < NO_REPLY_SHARE:
            raise NoReplyError("no reply")
        written = [message for message in request.messages if "os._exit" not in message.content]
        completion = await self._teacher.complete(request._replace(messages=tuple(written)))
        return completion._replace(text=DEADLY) if draw > 1 - DEATH_SHARE else completion


class Sample(NamedTuple):
    """What was held when an episode ended, and how long the episodes since the last sample took."""

    host_bytes: int
    sandbox_bytes: int
    descriptor_count: int
    process_count: int
    latency: float
    """Median seconds per turn, in durations of a process that does nothing."""


class Watch:
    """Samples the process every few episodes; counts rows."""

    def __init__(self) -> None:
        self.samples: list[Sample] = []
        self.rows = Counter[str]()
        self.reasons = Counter[str]()
        self._seconds: list[float] = []

    def note(self, recorded: RecordedEpisode) -> None:
        self.rows.update({table: len(rows) for table, rows in recorded.rows.items()})
        self.reasons[recorded.episode.finish_reason] += 1
        self._seconds.append(recorded.episode.wall_seconds / max(recorded.episode.turn_count, 1))
        if len(self._seconds) == EPISODES_PER_SAMPLE:
            processes = descendants(os.getpid())
            latency = statistics.median(self._seconds) / process_seconds()
            held = (resident_bytes(), proportional_bytes(processes), len(os.listdir("/proc/self/fd")))  # noqa: PTH208
            self.samples.append(Sample(*held, len(processes), latency))
            self._seconds = []


def process_seconds() -> float:
    """Return how long a Python that does nothing takes: a measure of what else the machine does now."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-I", "-S", "-c", ""], check=True)
    return time.perf_counter() - started


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def planned(instances: list[Instance], until: float) -> Iterator[PlannedEpisode]:
    for replicate in itertools.count():
        for instance in instances:
            if time.monotonic() > until:
                return
            yield PlannedEpisode(instance, replicate)


def play(contract: ContractName, folder: Path, until: float) -> Watch:
    """Play episodes of a contract with half of the places, and land them."""
    watch, runtime = Watch(), open_runtime(RuntimeSpec())
    instances = [sample_instance(KNAPSACK["small"], seed) for seed in range(INSTANCES)]
    condition = Condition(
        purpose="teacher", model_name="scripted", runtime_contract=contract, bucket="small", split="evaluation"
    )
    context = EpisodeContext(
        condition=condition,
        client=FaultyTeacher(open_teacher("small", contract)),
        runtime=runtime,
        spec=EpisodeSpec(faults=FaultSpec(), prompt_set="compact"),
        run_id=contract,
        plan_digest="plan",
        stage_digest="stage",
        scale="smoke",
    )
    with BatchedLanding(LandingZone(folder), contract) as landing:

        def keep(recorded: RecordedEpisode) -> None:
            landing.add(recorded.rows)
            watch.note(recorded)

        slots = EpisodeSlots(EPISODES_AT_ONCE // len(PAPER_CONTRACTS))
        shard = run_shard(planned(instances, until), context, slots=slots, check=lambda: None, on_recorded=keep)
        asyncio.run(shard)
    runtime.close()
    return watch


def growth(samples: list[Sample], what: str) -> tuple[float, float]:
    """Return the medians of the first and of the last third."""
    values, third = [getattr(sample, what) for sample in samples], len(samples) // 3
    return statistics.median(values[:third]), statistics.median(values[-third:])


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.timeout(SECONDS + 1800)
def test_episodes_with_faults_keep_memory_descriptors_and_latency_flat(tmp_path):
    before = set(descendants(os.getpid()))
    until = time.monotonic() + SECONDS
    with ThreadPoolExecutor(len(PAPER_CONTRACTS)) as contracts:
        watches = list(contracts.map(lambda contract: play(contract, tmp_path / "landing", until), PAPER_CONTRACTS))
    for contract, watch in zip(PAPER_CONTRACTS, watches, strict=True):
        medians = {what: growth(watch.samples, what) for what in Sample._fields}
        print(f"\n{contract}: {dict(watch.reasons)}, {dict(watch.rows)}, {len(watch.samples)} samples\n{medians}")
        for what in ("host_bytes", "sandbox_bytes"):
            assert medians[what][1] <= GROWTH * medians[what][0] + SLACK_BYTES, what
        assert medians["descriptor_count"][1] <= medians["descriptor_count"][0] + SLACK_DESCRIPTORS
        assert medians["process_count"][1] <= medians["process_count"][0] + SLACK_DESCRIPTORS
        assert medians["latency"][1] <= SLOWDOWN * medians["latency"][0]
        assert watch.reasons["error"] > 0
    assert set(descendants(os.getpid())) <= before
    rows = sum((watch.rows for watch in watches), Counter())
    zone = LandingZone(tmp_path / "landing")
    assert {table: zone.read(table).num_rows for table in rows} == rows
    merge(tmp_path / "landing", tmp_path / "warehouse.duckdb")
    with Warehouse.open(tmp_path / "warehouse.duckdb") as warehouse:
        merged = {table: warehouse.sql(f"select count(*) from {table}").rows()[0][0] for table in rows}
        (faults,) = warehouse.sql("select sum(injected_fault_count) > 0 from episodes").rows()
    assert merged == rows
    assert faults == (True,)
