"""Whether the harness is linear in the number of episodes, in constant memory.

pytest -m benchmark tests/benchmarks/harness/test_ten_thousand_episodes.py -s
"""

import os
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from carryover.storage.zone.landing import LandingZone
from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.runtime.process.descendants import descendants
from carryover.tasks.runtime.runtime_spec import RuntimeSpec

pytestmark = [pytest.mark.benchmark, pytest.mark.slow, pytest.mark.timeout(3600)]

INSTANCES = 200
CHECKPOINTS = (1_000, 3_000, 10_000)
CONCURRENCY = 8
GROWTH_LIMIT = 1.2
"""Processor time of one of the last episodes over that of one of the first: below it, the harness counts as linear."""
EPISODES_PER_SAMPLE = 50
"""How often the memory of the sandbox is looked at; that of this process is watched by the kernel."""


class Reached(NamedTuple):
    """What was spent and held when a number of episodes had ended."""

    episodes: int = 0
    processor_seconds: float = 0.0
    wall_seconds: float = 0.0
    host_bytes: int = 0
    """Most memory of this process so far."""
    sandbox_bytes: int = 0
    """Most memory of all processes of the sandbox so far."""
    process_count: int = 0
    descriptor_count: int = 0

    def processor_milliseconds(self, since):
        """Return the processor time of each episode since another point."""
        return (self.processor_seconds - since.processor_seconds) / (self.episodes - since.episodes) * 1e3

    def describe(self, since):
        """Return a line of the table."""
        rate = (self.episodes - since.episodes) / (self.wall_seconds - since.wall_seconds)
        return (
            f"  to {self.episodes:6,} episodes  {self.processor_milliseconds(since):5.1f} ms CPU each  {rate:5.1f} /s  "
            f"most memory so far: host {self.host_bytes / 1e6:4.0f} MB, sandbox {self.sandbox_bytes / 1e6:4.0f} MB  "
            f"({self.process_count} processes, {self.descriptor_count} descriptors)"
        )


def test_cost_and_memory_do_not_grow_with_episode_count(
    tmp_path, playing, measuring, processor_seconds, *, keep_figure, capsys
):
    start, start_processor = time.perf_counter(), processor_seconds()
    runtime = open_runtime(RuntimeSpec())
    reached = [Reached()]
    count = sandbox_bytes = 0

    def watch(_):
        nonlocal count, sandbox_bytes
        count += 1
        if count % EPISODES_PER_SAMPLE and count not in CHECKPOINTS:
            return
        processes = descendants(os.getpid())
        sandbox_bytes = max(sandbox_bytes, measuring.proportional_bytes(processes))
        if count in CHECKPOINTS:
            spent = (processor_seconds() - start_processor, time.perf_counter() - start)
            held = (measuring.peak_resident_bytes(), sandbox_bytes)
            descriptors = list(Path("/proc/self/fd").iterdir())
            reached.append(Reached(count, *spent, *held, len(processes), len(descriptors)))
            with capsys.disabled():
                print(reached[-1].describe(reached[-2]), flush=True)

    with capsys.disabled():
        print(f"\npersistent, {playing.TURNS} turns, {CONCURRENCY} at a time, sandbox {runtime.sandbox_level}")
    planned = playing.plan(playing.make_instances(INSTANCES), replicates=CHECKPOINTS[-1] // INSTANCES)
    playing.play(runtime, planned, "persistent", tmp_path, concurrency=CONCURRENCY, on_recorded=watch)
    runtime.close()
    none, first, *_, last = reached
    growth = last.processor_milliseconds(reached[-2]) / first.processor_milliseconds(none)
    what = f"of 10,000 episodes the last {last.episodes - reached[-2].episodes:,} over the first 1,000"
    keep_figure(f"CPU each, {what}", growth, at_most=GROWTH_LIMIT)
    keep_figure(f"memory of the host, {what}", last.host_bytes / first.host_bytes)
    keep_figure(f"memory of the sandbox, {what}", last.sandbox_bytes / first.sandbox_bytes)
    assert len(LandingZone(tmp_path).landed_episodes("plan")) == CHECKPOINTS[-1]
    assert last.host_bytes - first.host_bytes < 30e6, "the host's memory grew with the number of episodes"
    assert last.sandbox_bytes - first.sandbox_bytes < 30e6, "the sandbox's memory grew with the number of episodes"
    assert growth < GROWTH_LIMIT, "an episode's processor time grew with the number of episodes"
