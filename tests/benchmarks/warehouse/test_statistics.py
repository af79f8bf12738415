"""CPU of a plan's statistics at 100,000 episodes, in two shapes: many instances, and several training seeds."""

import time
from itertools import product

import numpy as np
import polars as pl
import pytest

from carryover.tasks.analysis.compute import compute_statistics
from carryover.tasks.analysis.statistics_spec import CELLS, METRICS
from tests.benchmarks.conftest import Keeping
from tests.flattening import flat

pytestmark = pytest.mark.benchmark

EPISODE_COUNT = 100_000
GOAL_MS = 0.37
"""A tenth of what statistics cost that lay out one value at a time."""


def _episodes(seed_count: int) -> pl.DataFrame:
    """Return the four trained cells with random metrics, as many instances as make 100,000 episodes."""
    random = np.random.default_rng(0)
    instance_count = EPISODE_COUNT // (len(CELLS) * seed_count)
    metrics = sorted(set(flat(METRICS.values())) - {"p below 0.05"})
    frames = []
    for arm, seed in product(CELLS, range(seed_count)):
        drawn = {metric: random.exponential(size=instance_count) for metric in metrics}
        yes_or_no = {metric: random.random(instance_count) < 0.5 for metric in ("is_solved", "has_missing_name")}
        frame = pl.DataFrame(drawn | yes_or_no | {"instance_id": [f"i{number}" for number in range(instance_count)]})
        keys = {"train_contract": arm.train, "runtime_contract": arm.runtime, "training_seed": seed, "replicate": 0}
        frames.append(frame.with_columns(**{name: pl.lit(value) for name, value in keys.items()}))
    setting = {"variant": "main", "base": "scratch", "visibility": "declared", "header": "names", "bucket": "small"}
    shared = setting | {"plan_digest": "plan", "purpose": "evaluation", "is_counted": True}
    return pl.concat(frames).with_columns(**{name: pl.lit(value) for name, value in shared.items()})


@pytest.mark.parametrize("seed_count", [1, 8])
def test_cpu_of_an_episodes_share_of_the_statistics(seed_count, keep_figure: Keeping):
    episodes = _episodes(seed_count)
    started = time.process_time()
    rows = compute_statistics(episodes, plan_digest="plan", run_id="run")
    cpu_ms = 1000 * (time.process_time() - started) / episodes.height
    assert episodes.height == EPISODE_COUNT
    assert {row.analysis for row in rows} >= {"mean", "difference", "ratio", "wilcoxon", "interaction_ratio"}
    keep_figure(
        f"statistics of 100,000 episodes, {seed_count} training seeds: CPU of an episode", cpu_ms, "ms", at_most=GOAL_MS
    )
    assert cpu_ms <= GOAL_MS
