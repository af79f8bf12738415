"""What a scratch folder adds to a trivial step that writes no file.

pytest -m benchmark tests/benchmarks/runtime/test_files_cost.py
"""

from itertools import product

import contest
import pytest

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(600)]

ROUND_COUNT, STEP_COUNT = 20, 60
CONTRACTS = ("persistent", "stateless")


@pytest.fixture
def contenders(cave_python, tmp_path):
    names = [f"ours_{contract}{suffix}" for contract, suffix in product(CONTRACTS, ("", "_files"))]
    started = contest.start(names, cave_python, tmp_path)
    yield started
    for contender in started.values():
        contender.close()


def test_a_folder_without_files_adds_a_tenth_at_most(contenders, processor_seconds, keep_figure):
    costs = contest.compare(contenders, "trivial", processor_seconds, round_count=ROUND_COUNT, step_count=STEP_COUNT)
    for contract in CONTRACTS:
        ratio = costs[f"ours_{contract}_files"].ratio(costs[f"ours_{contract}"])
        keep_figure(f"CPU of a step, trivial: ours_{contract} with a scratch folder over without", ratio, at_most=1.1)
        assert ratio > 0
