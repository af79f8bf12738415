"""The paper's whole evaluation, 1,200 episodes, against an endpoint that answers no faster than a served 8B model."""

import asyncio
import contextlib
import importlib.util
import itertools
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from storage.batching import BatchedLanding
from storage.landing import LandingZone
from tasks.agent.condition import Condition
from tasks.agent.openai_client import OpenAIClient
from tasks.agent.shard import PlannedEpisode, run_shard
from tasks.agent.spec import EndpointSpec, EpisodeSpec
from tasks.knapsack.sampling import sample_instance
from tasks.knapsack.spec import KNAPSACK
from tasks.runtime.open import open_runtime
from tasks.runtime.spec import RuntimeSpec

pytestmark = [pytest.mark.benchmark, pytest.mark.slow, pytest.mark.timeout(3600)]

SERVER = Path(__file__).with_name("simulated_endpoint.py")
EPISODES_AT_ONCE = 160
"""Waiting is shortened by this number over the concurrency: every measurement then lasts some minutes and loads the
harness as that many episodes at a time would, which is more than the concurrency it stands for."""
INSTANCES_PER_BUCKET = 100
TRAIN_CONTRACTS = (None, "persistent", "stateless")
CONCURRENCIES = (4, 16, 64)


def load_server():
    specification = importlib.util.spec_from_file_location("simulated_endpoint", SERVER)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@contextlib.contextmanager
def serve(dilation):
    """Serve from a process of its own, and give its address and its processor time so far."""
    server = subprocess.Popen([sys.executable, str(SERVER), str(dilation)], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    yield f"http://127.0.0.1:{server.stdout.readline().strip()}/v1", lambda: processor_seconds_of(server.pid)
    server.terminate()
    server.wait(10)


def processor_seconds_of(process):
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def make_conditions():
    for bucket, train, runtime in itertools.product(("easy", "hard"), TRAIN_CONTRACTS, ("persistent", "stateless")):
        yield Condition(
            purpose="evaluation",
            base="hub",
            model_name="simulated",
            train_contract=train,
            runtime_contract=runtime,
            bucket=bucket,
            split="evaluation",
            is_out_of_distribution=bucket == "hard",
        )


async def evaluate(base_url, runtime, landing, concurrency, on_recorded):
    """Play all cells, each instance once in each."""

    def land(recorded):
        landing.add(recorded.rows)
        on_recorded(recorded)

    client = OpenAIClient(EndpointSpec(base_url=base_url, concurrency=concurrency), "simulated")
    for condition in make_conditions():
        spec, seeds = KNAPSACK[condition.bucket], range(INSTANCES_PER_BUCKET)
        await run_shard(
            (PlannedEpisode(sample_instance(spec, seed), 0, 0) for seed in seeds),
            condition,
            client,
            runtime,
            EpisodeSpec(),
            run_id="run",
            plan_digest="plan",
            scale="paper",
            concurrency=concurrency,
            check=lambda: None,
            on_recorded=land,
        )
    await client.close()


@pytest.mark.parametrize("concurrency", CONCURRENCIES)
def test_wall_time_and_the_harness_share(concurrency, tmp_path, processor_seconds, capsys):
    latency = load_server().latency_seconds
    dilation = EPISODES_AT_ONCE / concurrency
    count, waited, spent = 0, 0.0, 0.0

    def add(recorded):
        nonlocal count, waited, spent
        simulated = sum(latency(turn.assistant_text) for turn in recorded.turns[1:])
        count += 1
        waited += simulated
        spent += recorded.episode.wall_seconds - simulated / dilation

    runtime = open_runtime(RuntimeSpec())
    with serve(dilation) as (base_url, server_seconds), BatchedLanding(LandingZone(str(tmp_path)), "run") as landing:
        start, start_processor = time.perf_counter(), processor_seconds() - server_seconds()
        asyncio.run(evaluate(base_url, runtime, landing, concurrency, add))
        processor = processor_seconds() - server_seconds() - start_processor
    wall = time.perf_counter() - start
    runtime.close()
    with capsys.disabled():
        print(
            f"\n  {count} episodes, {concurrency:2} at a time: {waited / concurrency / 3600:5.2f} h of model time "
            f"(played in {wall:.0f} s, {dilation:.1f} times faster)\n"
            f"  per episode {waited / count:.1f} s of model time and {spent / count * 1e3:.0f} ms of everything else: "
            f"the harness's share is {spent / (spent + waited):.2%}\n"
            f"  processor time per episode {processor / count * 1e3:.0f} ms, {processor / (processor + waited):.2%}"
        )
    assert count == len(TRAIN_CONTRACTS) * 2 * 2 * INSTANCES_PER_BUCKET
