"""What a step, a tool call, a start and a live episode cost, beside the runtimes of others, in one run.

    pytest -m benchmark tests/benchmarks/runtime

An environment for cave-agent 0.7.1 and smolagents is made on the first run, with pip, in the user's cache.
"""

import time

import contest
import pytest

from tests.flattening import flat

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(1800)]

ROUND_COUNT, STEP_COUNT = 10, 60
PAUSED_ROUND_COUNT, PAUSED_STEP_COUNT, PAUSE_SECONDS = 5, 30, 0.02
"""A model that thinks, far faster than any does; the next node is forked meanwhile."""
THROUGHPUT_STEP_COUNT = 300
CALL_COUNT = 20
OURS = ("ours_persistent", "ours_stateless")
OTHERS = ("thread", "ipykernel", "ipykernel_host_tools", "smolagents", "cave_agent")
MISSING = "its environment could not be made"
START_GOAL = 1.25
"""Our start with its imports takes at most this many times the processor time of an ipykernel's."""
GOALS = (
    ("trivial", "ipykernel", 0.4),
    ("trivial", "cave_agent", 0.4),
    ("six_calls", "ipykernel_host_tools", 0.4),
    ("six_calls", "ipykernel", 0.5),
)


@pytest.fixture(scope="module")
def contenders(cave_python, processor_seconds, tmp_path_factory):
    folder = tmp_path_factory.mktemp("contenders")
    started = {}
    for name in (*OURS, *OTHERS, "pipe"):
        before = processor_seconds()
        started |= contest.start([name], cave_python, folder)
        if name in started:
            started[name].start_processor_seconds = processor_seconds() - before
    yield started
    for contender in started.values():
        contender.close()


def test_start(contenders, table, keep_figure):
    for name, contender in running(contenders).items():
        table.enter(name, "start ms", f"{contender.start_seconds * 1e3:.0f}")
        table.enter(name, "start CPU ms, process and imports", f"{contender.start_processor_seconds * 1e3:.0f}")
    for name in {*OURS, *OTHERS} - contenders.keys():
        table.leave_out(name, "start ms", MISSING)
    kernel = contenders["ipykernel"].start_processor_seconds
    ratios = {name: contenders[name].start_processor_seconds / kernel for name in OURS}
    for name, ratio in ratios.items():
        keep_figure(f"CPU of a start: {name} over ipykernel", ratio, at_most=START_GOAL)
    assert max(ratios.values()) <= START_GOAL, ratios


@pytest.mark.parametrize("workload", ["trivial", "six_calls"])
def test_processor_time_and_latency_of_a_step(contenders, processor_seconds, table, keep_figure, workload):
    chosen = running(contenders)
    costs = contest.compare(chosen, workload, processor_seconds, round_count=ROUND_COUNT, step_count=STEP_COUNT)
    for name, cost in costs.items():
        table.enter(name, f"{workload} CPU us", f"{cost.microseconds:.0f}")
        table.enter(name, f"{workload} p50/p99 ms", latencies(cost))
    for measured, other, goal in GOALS:
        if measured == workload and other in costs:
            for name in OURS:
                what = f"CPU of a step, {workload}: {name} over {other}"
                keep_figure(what, costs[name].ratio(costs[other]), at_most=goal)
    assert set(costs) == set(chosen)


def test_processor_time_of_a_tool_call(contenders, processor_seconds, table, keep_figure):
    """Only the tools of ours and of `ipykernel_host_tools` are in another process than the block."""
    chosen = running(contenders)
    rounds = {"round_count": ROUND_COUNT, "step_count": STEP_COUNT // 3}
    without = contest.compare(chosen, "no_calls", processor_seconds, **rounds)
    with_calls = contest.compare(chosen, "twenty_calls", processor_seconds, **rounds)
    pipe = contest.compare(
        {"pipe": contenders["pipe"]}, "trivial", processor_seconds, round_count=ROUND_COUNT, step_count=2000
    )["pipe"]
    keep_figure("CPU of a pipe's round trip", pipe.microseconds, "us")
    for name in chosen:
        each = (with_calls[name].microseconds - without[name].microseconds) / CALL_COUNT
        table.enter(name, "tool call CPU us", f"{each:.1f}")
        if name in OURS:
            what = f"CPU of a tool call over a pipe's round trip: {name}"
            keep_figure(what, each / pipe.microseconds, "round trips", at_most=12)
    assert pipe.microseconds > 0


def test_latency_while_the_model_thinks(contenders, processor_seconds, table, keep_figure):
    chosen = running(contenders)
    costs = contest.compare(
        chosen,
        "trivial",
        processor_seconds,
        round_count=PAUSED_ROUND_COUNT,
        step_count=PAUSED_STEP_COUNT,
        pause_seconds=PAUSE_SECONDS,
    )
    for name, cost in costs.items():
        table.enter(name, "after a pause p50/p99 ms", latencies(cost))
    stock = costs["ipykernel"].percentile(50)
    for name in OURS:
        what = f"latency with the next node forked ahead, median over a stock cell's: {name}"
        keep_figure(what, costs[name].percentile(50) / stock, at_most=0.2)
    assert set(costs) == set(chosen)


@pytest.mark.parametrize("name", [*OURS, *OTHERS])
def test_throughput_of_two_workers(cave_python, table, keep_figure, tmp_path, name):
    started = [contest.start([name], cave_python, tmp_path / f"worker_{number}") for number in range(2)]
    workers = flat(each.values() for each in started)
    if not workers:
        table.leave_out(name, "steps/s, 1 and 2 workers", MISSING)
        pytest.skip(f"{name}: {MISSING}")
    rates = [steps_per_second(workers[:count]) for count in (1, 2)]
    for worker in workers:
        worker.close()
    ratio = rates[1] / rates[0]
    table.enter(name, "steps/s, 1 and 2 workers", f"{rates[0]:.0f}, {rates[1]:.0f}")
    goal = {"at_least": 1.7} if name in OURS else {}
    keep_figure(f"steps per second of two workers over one: {name}", ratio, **goal)
    assert all(rates)


def running(contenders: dict[str, contest.Contender]) -> dict[str, contest.Contender]:
    """Return those that run blocks."""
    return {name: contender for name, contender in contenders.items() if name != "pipe"}


def latencies(cost: contest.Cost) -> str:
    return f"{cost.percentile(50):.2f}/{cost.percentile(99):.2f}"


def steps_per_second(workers: list[contest.Contender]) -> float:
    """Let workers run trivial blocks side by side."""
    for worker in workers:
        worker.ask("trivial", contest.WARM_UP_COUNT)
        worker.seconds()
    started = time.perf_counter()
    for worker in workers:
        worker.ask("trivial", THROUGHPUT_STEP_COUNT)
    for worker in workers:
        worker.seconds()
    return len(workers) * THROUGHPUT_STEP_COUNT / (time.perf_counter() - started)
