"""Processor time and latency of a step, beside the runtimes of others, in one run.

    pytest -m benchmark tests/benchmarks/runtime -s

`CARRYOVER_CAVE_PYTHON` names the Python of an environment with cave-agent 0.7.1 and smolagents; without it those two
are left out, and the table says so.
"""

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

pytestmark = pytest.mark.benchmark

FOLDER = Path(__file__).parent
STEP_COUNT = 300
PAUSED_STEP_COUNT = 60
PAUSE_SECONDS = 0.02
"""A model that thinks, far faster than any does; the next node is forked meanwhile."""
CAVE_PYTHON = os.environ.get("CARRYOVER_CAVE_PYTHON")
NEEDS_CAVE = ("smolagents", "cave_agent")
OURS = ("ours_persistent", "ours_stateless")
OTHERS = ("thread", "ipykernel_local_tools", "ipykernel_host_tools", *NEEDS_CAVE)


class Cost(NamedTuple):
    processor_microseconds: float
    p50_milliseconds: float
    p99_milliseconds: float


def measure(name: str, workload: str, steps: int, pause: float, clock: Callable[[], float]) -> Cost:
    python = CAVE_PYTHON if name in NEEDS_CAVE else sys.executable
    assert python is not None
    command = [python, str(FOLDER / "contenders.py"), name, workload, str(steps), str(pause)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=FOLDER
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        while process.stdout.readline().strip() != "ready":
            assert process.poll() is None, f"{name} ended"
        before = clock()
        process.stdin.write("go\n")
        process.stdin.flush()
        line = process.stdout.readline()
        while not line.startswith("{"):
            line = process.stdout.readline()
        spent = clock() - before
        process.stdin.write("end\n")
        process.stdin.flush()
        process.wait(timeout=60)
    seconds = json.loads(line)["seconds"]
    cuts = statistics.quantiles(seconds, n=100)
    return Cost(spent / steps * 1e6, cuts[49] * 1e3, cuts[98] * 1e3)


@pytest.fixture(scope="module")
def costs(processor_seconds: Callable[[], float]) -> dict[tuple[str, str], Cost]:
    present = [name for name in (*OURS, *OTHERS) if CAVE_PYTHON is not None or name not in NEEDS_CAVE]
    return {
        (name, workload): measure(name, workload, STEP_COUNT, 0, processor_seconds)
        for workload in ("trivial", "six_calls")
        for name in present
    }


def test_processor_time_per_step(costs):
    for (name, workload), cost in costs.items():
        print(f"{workload:10} {name:24} {cost.processor_microseconds:7.0f} us  p50 {cost.p50_milliseconds:.2f} ms"
              f"  p99 {cost.p99_milliseconds:.2f} ms")  # fmt: skip
    for workload, other, goal in (
        ("trivial", "ipykernel_local_tools", 0.4),
        ("trivial", "cave_agent", 0.4),
        ("six_calls", "ipykernel_host_tools", 0.4),
        ("six_calls", "ipykernel_local_tools", 0.5),
    ):
        if (other, workload) not in costs:
            print(f"{workload}: {other} was left out: set CARRYOVER_CAVE_PYTHON")
            continue
        worse = max(costs[name, workload].processor_microseconds for name in OURS)
        ratio = worse / costs[other, workload].processor_microseconds
        print(f"{workload}: worse contract / {other} = {ratio:.2f} (goal {goal})")
    assert costs


def test_latency_when_the_next_node_is_forked_ahead(processor_seconds):
    latencies = {
        name: measure(name, "trivial", PAUSED_STEP_COUNT, PAUSE_SECONDS, processor_seconds).p50_milliseconds
        for name in (*OURS, "ipykernel_local_tools")
    }
    for name in OURS:
        ratio = latencies[name] / latencies["ipykernel_local_tools"]
        print(f"{name}: {latencies[name]:.2f} ms, {ratio:.2f} of a stock cell (goal 0.2)")
    assert latencies
