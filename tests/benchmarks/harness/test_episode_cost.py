"""What an episode costs beside the blocks that it runs: scripted teacher, sandboxed, recorded and landed."""

import asyncio
import concurrent.futures
import cProfile
import itertools
import pstats
import time
from collections import Counter
from pathlib import Path

import pytest

from storage.batching import BatchedLanding
from storage.landing import LandingZone
from tasks.agent.condition import Condition
from tasks.agent.shard import PlannedEpisode, run_shard
from tasks.agent.spec import EpisodeSpec
from tasks.agent.teachers.open import open_teacher
from tasks.knapsack.environment import KnapsackEnvironment
from tasks.knapsack.sampling import sample_instance
from tasks.knapsack.spec import KNAPSACK
from tasks.runtime.open import open_runtime
from tasks.runtime.protocol import CONTRACTS
from tasks.runtime.spec import RuntimeSpec

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(1800)]

TURNS = 6
INSPECTIONS_PER_TURN = 6
"""With a budget of 25 to 30, five turns of inspection and one of taking."""
EPISODES = 120
MEMORY_EPISODES = 10_000


def make_instances(count):
    """Return Easy instances that the teacher plays in six turns."""
    found, seeds = [], itertools.count()
    while len(found) < count:
        instance = sample_instance(KNAPSACK["easy"], next(seeds))
        if 5 * INSPECTIONS_PER_TURN - 5 <= instance.inspection_budget <= 5 * INSPECTIONS_PER_TURN:
            found.append(instance)
    return found


def play(runtime, instances, contract, folder, *, concurrency, on_recorded=lambda recorded: None):
    """Play every instance once and land the rows."""
    condition = Condition(
        purpose="teacher", model_name="scripted", runtime_contract=contract, bucket="easy", split="evaluation"
    )
    teacher = open_teacher("easy", contract, inspections_per_turn=INSPECTIONS_PER_TURN)
    with BatchedLanding(LandingZone(str(folder)), "run") as landing:

        def land(recorded):
            landing.add(recorded.rows)
            on_recorded(recorded)

        asyncio.run(
            run_shard(
                (PlannedEpisode(instance, 0, 0) for instance in instances),
                condition,
                teacher,
                runtime,
                EpisodeSpec(),
                run_id="run",
                plan_digest="plan",
                scale="smoke",
                concurrency=concurrency,
                check=lambda: None,
                on_recorded=land,
            )
        )


def record_codes(runtime, instances, contract, folder):
    """Return the blocks of each episode, in order of the instances."""
    codes = {}
    play(
        runtime,
        instances,
        contract,
        folder,
        concurrency=1,
        on_recorded=lambda recorded: codes.update(
            {recorded.episode.instance_id: [step.code for step in recorded.steps]}
        ),
    )
    assert {len(blocks) for blocks in codes.values()} == {TURNS}
    return [codes[instance.instance_id] for instance in instances]


def run_bare(runtime, instances, contract, codes):
    """Run the same blocks with the same tools, and nothing else."""
    for instance, blocks in zip(instances, codes, strict=True):
        interpreter = runtime.open_interpreter(
            CONTRACTS[contract], KnapsackEnvironment(instance).tools, instance_id=instance.instance_id
        )
        for code in blocks:
            interpreter.run_block(code)
        interpreter.close()


@pytest.mark.parametrize("contract", list(CONTRACTS))
def test_processor_time_per_six_turn_episode_beside_bare_steps(contract, tmp_path, processor_seconds, capsys):
    instances = make_instances(EPISODES)
    runtime = open_runtime(RuntimeSpec())
    codes = record_codes(runtime, instances, contract, tmp_path / "warm")
    measured = {}

    def measure(name, work):
        processor, wall = processor_seconds(), time.perf_counter()
        work()
        measured[name] = (
            (processor_seconds() - processor) / EPISODES * 1e3,
            (time.perf_counter() - wall) / EPISODES * 1e3,
        )

    for round_number in range(2):  # twice, in turn, so that the order tells nothing
        measure(f"bare {round_number}", lambda: run_bare(runtime, instances, contract, codes))
        for concurrency in (1, 8):
            folder = tmp_path / f"{round_number}-{concurrency}"
            measure(
                f"harness, {concurrency} at a time {round_number}",
                lambda folder=folder, concurrency=concurrency: play(
                    runtime, instances, contract, folder, concurrency=concurrency
                ),
            )
    runtime.close()
    with capsys.disabled():
        print(f"\n{contract}, {EPISODES} episodes of {TURNS} turns, sandbox {runtime.sandbox_level}")
        names = dict.fromkeys(name.rpartition(" ")[0] for name in measured)
        best = {name: tuple(min(measured[f"{name} {k}"][i] for k in range(2)) for i in range(2)) for name in names}
        for name, (processor, wall) in best.items():
            ratio = processor / best["bare"][0]
            print(f"  {name:24} {processor:6.1f} ms CPU  {wall:6.1f} ms wall  {1e3 / wall:6.1f} /s  {ratio:.2f} x bare")


class InlineExecutor(concurrent.futures.ThreadPoolExecutor):
    """Runs what it is given at once, so that one profile sees it all."""

    def submit(self, fn, /, *args, **kwargs):
        future = concurrent.futures.Future()
        future.set_result(fn(*args, **kwargs))
        return future


def test_where_the_hosts_processor_time_goes(tmp_path, capsys):
    instances = make_instances(EPISODES // 2)
    runtime = open_runtime(RuntimeSpec())
    play(runtime, instances[:10], "persistent", tmp_path / "warm", concurrency=1)
    profile = cProfile.Profile()

    async def play_inline():
        asyncio.get_running_loop().set_default_executor(InlineExecutor())
        condition = Condition(
            purpose="teacher", model_name="scripted", runtime_contract="persistent", bucket="easy", split="evaluation"
        )
        with BatchedLanding(LandingZone(str(tmp_path / "profiled")), "run") as landing:
            await run_shard(
                (PlannedEpisode(instance, 0, 0) for instance in instances),
                condition,
                open_teacher("easy", "persistent", inspections_per_turn=INSPECTIONS_PER_TURN),
                runtime,
                EpisodeSpec(),
                run_id="run",
                plan_digest="plan",
                scale="smoke",
                concurrency=1,
                check=lambda: None,
                on_recorded=lambda recorded: landing.add(recorded.rows),
            )

    profile.enable()
    asyncio.run(play_inline())
    profile.disable()
    runtime.close()
    seconds = Counter()
    stats = pstats.Stats(profile).stats  # pyright: ignore[reportAttributeAccessIssue]
    for function, (_, _, own, _, _) in stats.items():
        for part, share in _share_by_part(function, stats).items():
            seconds[part] += own * share
    waiting = seconds.pop("waiting for the sandbox", 0.0)
    total = sum(seconds.values())
    with capsys.disabled():
        print(f"\nhost, {total / len(instances) * 1e3:.1f} ms per episode under the profiler")
        print(f"  waiting for the sandbox: {waiting / len(instances) * 1e3:.1f} ms per episode")
        for part, own in seconds.most_common(12):
            print(f"  {own / total:6.1%}  {part}")


def _share_by_part(function, stats, seen=()):
    """Return how a function's own time divides among the parts of the program that called it."""
    file, _, name = function
    if any(word in name for word in ("recv", "select", "poll", "pread")):
        return {"waiting for the sandbox": 1.0}
    pieces = Path(file).parts
    for root in ("tasks", "storage"):
        if root in pieces and "site-packages" not in pieces:
            return {".".join(pieces[pieces.index(root) :][:3]).removesuffix(".py"): 1.0}
    callers = {caller: times[3] for caller, times in stats[function][4].items() if caller not in seen}
    total = sum(callers.values())
    if not total:
        return {"the event loop and its threads": 1.0}
    shares = Counter()
    for caller, seconds in callers.items():
        for part, share in _share_by_part(caller, stats, (*seen, function)).items():
            shares[part] += share * seconds / total
    return shares


@pytest.mark.slow
def test_memory_and_speed_over_ten_thousand_episodes(tmp_path, capsys):
    instances = make_instances(200)
    runtime = open_runtime(RuntimeSpec())
    samples = []
    start = time.perf_counter()
    count = 0

    def sample(_):
        nonlocal count
        count += 1
        if count % 1000 == 0:
            samples.append((count, time.perf_counter() - start, _resident_megabytes()))

    many = (instance for _ in range(MEMORY_EPISODES // len(instances)) for instance in instances)
    play(runtime, many, "persistent", tmp_path, concurrency=8, on_recorded=sample)
    runtime.close()
    with capsys.disabled():
        print()
        for reached, seconds, megabytes in samples:
            print(f"  {reached:6} episodes  {seconds:7.1f} s  {reached / seconds:6.1f} /s  {megabytes:7.1f} MB")
    assert count == MEMORY_EPISODES
    assert samples[-1][2] - samples[1][2] < 30, "memory grew with the number of episodes"


def _resident_megabytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6
