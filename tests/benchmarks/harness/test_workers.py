"""Episodes per hour of several workers that land in one zone, and what would bound them next.

    pytest -m benchmark tests/benchmarks/harness/test_workers.py -s [--dilation 4]

Every worker is a process with a sandbox of its own, against one endpoint that answers no faster than a served 8B model.
Each plays as many episodes per place, so all end about together. `--dilation` makes the run shorter: waiting is
shortened, and the rate given is that of the undiluted wait, with what the processors did in between counted in full.
"""

import subprocess
import sys
import time

import polars as pl
import pytest

from carryover.storage.zone.landing import LandingZone
from tests.benchmarks.harness.test_paper_scale import serve
from tests.flows.flow_process import ROOT

pytestmark = [pytest.mark.benchmark, pytest.mark.slow, pytest.mark.timeout(3600)]

EPISODES_PER_PLACE = 2
CASES = [(1, 4), (2, 4), (4, 4), (8, 4), (1, 1), (1, 16)]
"""Workers, and episodes side by side in each."""


def play(base_url, folder, workers, places, clock):
    """Play with so many workers; return seconds, and those of processors, from the common start to the last end."""
    count, program = EPISODES_PER_PLACE * places, [sys.executable, "-m", "tests.benchmarks.harness.one_worker"]
    started = [
        subprocess.Popen(
            [*program, base_url, str(folder), *map(str, (number * count, count, places))],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(workers)
    ]
    assert all(worker.stdout and worker.stdout.readline() == "ready\n" for worker in started)
    start, busy = time.perf_counter(), clock()
    for worker in started:
        assert worker.stdin
        worker.stdin.write("\n")
        worker.stdin.flush()
    assert [worker.wait() for worker in started] == [0] * workers
    return time.perf_counter() - start, clock() - busy


@pytest.mark.parametrize(("workers", "places"), CASES)
def test_episodes_per_hour(workers, places, tmp_path, pytestconfig, keep_figure, *, processor_seconds):
    dilation = pytestconfig.getoption("--dilation", default=None) or 1.0
    with serve(dilation) as (base_url, endpoint_seconds):
        clock = lambda: processor_seconds() - endpoint_seconds()  # noqa: E731
        seconds, busy = play(base_url, tmp_path / "landing", workers, places, clock)
    count = EPISODES_PER_PLACE * places * workers
    episodes = LandingZone(tmp_path / "landing").scan("episodes").filter(pl.col("replicate") == 0).collect()
    assert len(episodes) == episodes["episode_id"].n_unique() == count
    waited = episodes["model_seconds"].sum() / (places * workers)
    rate = count / (seconds + (dilation - 1) * waited) * 3600
    short = "" if dilation == 1 else f", waits {dilation:g} times shorter"
    case = f"{workers} workers, {places} side by side in each{short}"
    keep_figure(f"episodes per hour: {case}", rate)
    keep_figure(f"processor time of an episode: {case}", busy / count * 1e3, "ms")
