"""How long the study takes from nothing, and the second time, when its plan is finished.

    pytest -m benchmark tests/benchmarks/demo -s [-k smoke]

Says something about an idle machine with two cores only. Installing is not counted: what runs is what `make demo` runs
once the environment is there.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = [pytest.mark.benchmark, pytest.mark.slow, pytest.mark.timeout(7200)]

ROOT = Path(__file__).parents[3]
GOALS = {"smoke": (120, 20), "laptop": (600, 20)}
"""Most seconds of the first and of the second time; told, not asserted."""


def run_demo(scale, home):
    """Return the seconds that the study took, and the tables that it printed."""
    environment = {key: value for key, value in os.environ.items() if key != "PREFECT_API_URL"}
    start = time.perf_counter()
    printed = subprocess.run(
        [sys.executable, "-m", "flows.reproduce_study", "--scale", scale],
        cwd=ROOT,
        env=environment | {"CARRYOVER_HOME": str(home)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout
    return time.perf_counter() - start, printed[printed.index(f"{scale}: ") :]


@pytest.mark.parametrize("scale", GOALS)
def test_the_study_from_nothing_and_once_more(scale, tmp_path, capsys):
    (first, tables), (second, tables_again) = (run_demo(scale, tmp_path / "data") for _ in range(2))
    with capsys.disabled():
        for name, seconds, goal in zip(("from nothing", "once more"), (first, second), GOALS[scale], strict=True):
            print(f"\n{scale}, {name}: {seconds:.0f} s (goal {goal} s)", end="")
        print()
    assert tables_again == tables
