"""What an episode costs beside the blocks that it runs: scripted teacher, sandboxed, recorded and landed.

    pytest -m benchmark tests/benchmarks/harness/test_episode_cost.py -s

Wall time is worth something on an idle machine only; the ratios of processor time hold on a busy one, too.
"""

import cProfile
import pstats
import time
from collections import defaultdict
from typing import NamedTuple

import pytest

from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.runtime.runtime_spec import RuntimeSpec

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(1800)]

EPISODES = 120
ROUNDS = 3
"""Everything is measured in turn so often, and the best counts: a busy machine and the order then tell little."""
CONCURRENCIES = (1, 8)
GOAL = 1.5
"""Most processor time of an episode in the harness, over that of the same blocks as bare steps."""

LEAST_SHARE_OF_BLOCKS = 0.65
"""Of an episode's processor time: what its blocks cost, in the sandbox and on the host."""
MOST_SHARE_OF_ROWS = 0.12
"""Of an episode's processor time: what recording and landing its rows costs."""


class Cost(NamedTuple):
    """Of one episode, in milliseconds."""

    processor: float
    wall: float


@pytest.mark.parametrize("contract", ["persistent", "stateless"])
def test_processor_time_per_six_turn_episode_beside_bare_steps(
    contract, tmp_path, playing, processor_seconds, keep_figure
):
    instances = playing.make_instances(EPISODES)
    measured = defaultdict(list)

    def measure(name, work):
        processor, wall = processor_seconds(), time.perf_counter()
        found = work()
        cost = Cost(processor_seconds() - processor, time.perf_counter() - wall)
        measured[name].append(Cost(*(seconds / EPISODES * 1e3 for seconds in cost)))
        return found

    runtime = measure("start", lambda: open_runtime(RuntimeSpec()))
    blocks = playing.record_blocks(runtime, instances, contract, tmp_path / "blocks")
    for round_number in range(ROUNDS):
        measure("bare steps", lambda: playing.run_bare(runtime, instances, contract, blocks))
        for concurrency in CONCURRENCIES:
            folder = tmp_path / f"{round_number}-{concurrency}"
            measure(
                f"harness, {concurrency} at a time",
                lambda folder=folder, concurrency=concurrency: playing.play(
                    runtime, playing.plan(instances), contract, folder, concurrency=concurrency
                ),
            )
    runtime.close()
    start = measured.pop("start")[0]
    best = {name: Cost(*(min(values) for values in zip(*costs, strict=True))) for name, costs in measured.items()}
    bare = best["bare steps"].processor + start.processor
    ratios = {name: (cost.processor + start.processor) / bare for name, cost in best.items()}
    for name, (processor, wall) in best.items():
        keep_figure(f"CPU of a six-turn episode, {contract}: {name}", processor + start.processor, "ms")
        keep_figure(f"episodes per second, {contract}: {name}", 1e3 / wall)
        if name != "bare steps":
            keep_figure(
                f"CPU of a six-turn episode over its bare steps, {contract}: {name}", ratios[name], at_most=GOAL
            )
    assert max(ratios.values()) <= GOAL, ratios


def test_where_the_processor_time_goes(tmp_path, playing, measuring, processor_seconds, capsys):
    instances = playing.make_instances(EPISODES)
    runtime = open_runtime(RuntimeSpec())
    playing.play_in_one_thread(runtime, instances[:10], "persistent", tmp_path / "warm")
    start, host_start = processor_seconds(), time.process_time()
    playing.play_in_one_thread(runtime, instances, "persistent", tmp_path / "clocked")
    host, whole = time.process_time() - host_start, processor_seconds() - start
    # The profile's clock is the processor's: waiting for the sandbox is nobody's time.
    profile = cProfile.Profile(time.process_time)
    profile.enable()
    playing.play_in_one_thread(runtime, instances, "persistent", tmp_path / "profiled")
    profile.disable()
    runtime.close()
    seconds = measuring.seconds_by_part(pstats.Stats(profile).stats)  # pyright: ignore[reportAttributeAccessIssue]
    parts = {part: own / seconds.total() * host for part, own in seconds.most_common()}
    shares = {part: own / whole for part, own in ({"sandbox": whole - host} | parts).items()}
    with capsys.disabled():
        print(f"\npersistent, one at a time, one thread: {whole / EPISODES * 1e3:.1f} ms CPU per episode")
        for part, share in shares.items():
            print(f"  {share:6.1%}  {share * whole / EPISODES * 1e3:5.1f} ms  {part}")
    assert shares.keys() >= {"sandbox", *measuring.PARTS.values()}
    assert shares["sandbox"] + shares["runtime, host side"] >= LEAST_SHARE_OF_BLOCKS, shares
    assert shares["recording"] + shares["landing"] <= MOST_SHARE_OF_ROWS, shares
