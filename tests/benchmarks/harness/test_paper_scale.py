"""The paper's whole evaluation, 1,200 episodes, against an endpoint that answers no faster than a served 8B model.

    pytest -m benchmark tests/benchmarks/harness/test_paper_scale.py -s [--dilation 1] [--instances 20]

As in a study, two cells are played at a time, each with a sandbox and a client of its own and half of the places. The
*harness's share* is the part of the wall time, from before the first sandbox starts to after the last row has landed,
that the model alone would not have needed: the same cells and in them the same episodes in the same order, each begun
as soon as one of the same number of places is free, and each as long as the endpoint takes for its replies. Waiting is
shortened, what the harness adds is not; as many more episodes begin per second, it is measured under a heavier load
than it stands for. `--dilation 1` shortens nothing: 9 minutes with 64 at a time, hours with 4.
"""

import asyncio
import contextlib
import itertools
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from carryover.storage.zone.batching import BatchedLanding
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.agent.client import EpisodeSlots
from carryover.tasks.agent.condition import Condition
from carryover.tasks.agent.episode import PlannedEpisode
from carryover.tasks.agent.episode_spec import EndpointSpec
from carryover.tasks.agent.openai_client import OpenAIClient
from carryover.tasks.agent.shard import run_shard
from carryover.tasks.knapsack.knapsack_spec import KNAPSACK
from carryover.tasks.knapsack.sampling import sample_instance
from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.traces.vocabulary import PAPER_CONTRACTS
from tests.flattening import flat
from tests.tasks.agent.playing import make_context

pytestmark = [pytest.mark.benchmark, pytest.mark.slow, pytest.mark.timeout(8 * 3600)]

SERVER = Path(__file__).with_name("simulated_endpoint.py")
EPISODES_AT_ONCE = 160
"""Waiting is shortened by this number over the concurrency, so that every measurement lasts some minutes."""
INSTANCES_PER_BUCKET = 100
CELLS_AT_ONCE = 2
"""A study's cells side by side share their places; these two have half of them each."""
TRAIN_CONTRACTS = (None, *PAPER_CONTRACTS)
CONCURRENCIES = (4, 16, 64)
LARGEST_SHARE = {4: 0.02, 16: 0.02}
"""The harness's share of the wall time that is met; with 64 at a time it is where nothing is shortened."""


@contextlib.contextmanager
def serve(dilation):
    """Serve from a process of its own, and give its address and its processor time so far."""
    server = subprocess.Popen([sys.executable, str(SERVER), str(dilation)], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        yield f"http://127.0.0.1:{server.stdout.readline().strip()}/v1", lambda: processor_seconds_of(server.pid)
    finally:
        server.terminate()
        server.wait(10)


def processor_seconds_of(process):
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def make_conditions():
    for bucket, train, runtime in itertools.product(("easy", "hard"), TRAIN_CONTRACTS, PAPER_CONTRACTS):
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


def play_cell(condition, base_url, folder, concurrency, instance_count):
    """Play every instance once under a condition, land the episodes, and return them: what the study's task does."""
    recorded = []
    instances = (sample_instance(KNAPSACK[condition.bucket], seed) for seed in range(instance_count))
    client = OpenAIClient(EndpointSpec(base_url=base_url, concurrency=concurrency), "simulated")
    runtime = open_runtime(RuntimeSpec())
    with BatchedLanding(LandingZone(folder), "run") as landing:

        def keep(one):
            landing.add(one.rows)
            recorded.append(one)

        async def play():
            await run_shard(
                (PlannedEpisode(instance, 0, 0) for instance in instances),
                make_context(runtime, client, condition, scale="paper"),
                slots=EpisodeSlots(concurrency),
                check=lambda: None,
                on_recorded=keep,
            )
            await client.close()

        asyncio.run(play())
    runtime.close()
    return recorded


def play_cells(base_url, folder, concurrency, instance_count):
    """Play every cell, as many at a time as a study does, and return the episodes of each."""
    places = concurrency // CELLS_AT_ONCE
    with ThreadPoolExecutor(CELLS_AT_ONCE) as cells:
        return list(
            cells.map(
                lambda condition: play_cell(condition, base_url, folder, places, instance_count), make_conditions()
            )
        )


@pytest.mark.parametrize("concurrency", CONCURRENCIES)
def test_wall_time_and_the_harness_share(
    concurrency, tmp_path, measuring, simulated_endpoint, *, processor_seconds, keep_figure, capsys, pytestconfig
):
    dilation = pytestconfig.getoption("--dilation", default=None) or EPISODES_AT_ONCE / concurrency
    instance_count = pytestconfig.getoption("--instances", default=None) or INSTANCES_PER_BUCKET
    with serve(dilation) as (base_url, server_seconds):
        start, start_processor = time.perf_counter(), processor_seconds() - server_seconds()
        cells = play_cells(base_url, tmp_path, concurrency, instance_count)
        wall = time.perf_counter() - start
        processor = processor_seconds() - server_seconds() - start_processor

    def model_seconds(recorded):
        return sum(simulated_endpoint.latency_seconds(turn.assistant_text) for turn in recorded.turns[1:])

    def cell_seconds(cell):
        begun = sorted(cell, key=lambda recorded: recorded.episode.started_at)
        return measuring.makespan(map(model_seconds, begun), concurrency // CELLS_AT_ONCE)

    alone = measuring.makespan(map(cell_seconds, cells), CELLS_AT_ONCE)
    episodes = flat(cells)
    count, turns = len(episodes), sum(recorded.episode.turn_count for recorded in episodes)
    simulated = sum(map(model_seconds, episodes))
    requests = sum(recorded.episode.model_seconds for recorded in episodes) - simulated / dilation
    blocks = sum(recorded.episode.execution_seconds for recorded in episodes)
    added = sum(recorded.episode.wall_seconds for recorded in episodes) - simulated / dilation
    share = measuring.share_of_harness(wall, alone, dilation)
    with capsys.disabled():
        print(
            f"\n{count} episodes, {concurrency} at a time (played in {wall:.0f} s, waiting {dilation:g} x shorter)\n"
            f"  model alone {alone / 3600:.3f} h, with the harness {(alone + wall - alone / dilation) / 3600:.3f} h\n"
            f"  an episode: {turns / count:.1f} turns, {simulated / count:.1f} s of model time; added "
            f"{added / count * 1e3:.0f} ms, of these requests {requests / count * 1e3:.0f}, blocks "
            f"{blocks / count * 1e3:.0f}, all else {(added - requests - blocks) / count * 1e3:.0f}\n"
            f"  processor time of an episode {processor / count * 1e3:.0f} ms, "
            f"{processor / (processor + simulated):.2%} of it and the model's"
        )
    what = (
        f"harness's share of wall time, {count:,} episodes, {concurrency} at a time, waits {dilation:g} times shorter"
    )
    keep_figure(what, share * 100, "%", at_most=2)
    assert count == len(TRAIN_CONTRACTS) * 2 * 2 * instance_count
    if instance_count == INSTANCES_PER_BUCKET and concurrency in LARGEST_SHARE:
        assert share <= LARGEST_SHARE[concurrency]
