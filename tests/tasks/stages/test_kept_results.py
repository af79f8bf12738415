"""The statistics that the repository keeps beside a study's rows are those of these rows."""

from importlib.resources import files
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from carryover.storage.zone.schemas import to_arrow
from carryover.tasks.analysis.compute import kept_statistics
from carryover.tasks.stages.results import EPISODES, STATISTICS, read_plans

KEPT = sorted(entry for entry in Path(str(files("carryover.sql") / "results")).iterdir() if entry.is_dir())
BY_RESAMPLING = pl.col("interval_kind").is_in(["percentile", "BCa"]).fill_null(value=False)


def _recomputed(folder: Path, **changes: int) -> pl.DataFrame:
    settings = read_plans(folder)[-1].plan.get("statistics", {}) | changes
    episodes = pl.read_parquet(folder / EPISODES).with_columns(plan_digest=pl.lit(folder.name))
    return pl.DataFrame(to_arrow(kept_statistics(episodes, folder.name, settings))).sort("statistic_id")


@pytest.mark.slow
@pytest.mark.parametrize("folder", KEPT, ids=lambda folder: folder.name)
def test_kept_statistics_are_those_of_the_kept_episodes(folder):
    kept = pl.read_parquet(folder / STATISTICS).sort("statistic_id")
    recomputed = _recomputed(folder, resample_count=20)  # all but the ends of intervals is there without resamples
    interval = ["low", "high", "p_value", "p_holm", "verdict", "method", "note"]
    assert_frame_equal(kept.drop(interval), recomputed.drop(interval))
    assert_frame_equal(kept.filter(~BY_RESAMPLING), recomputed.filter(~BY_RESAMPLING))


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("folder", KEPT, ids=lambda folder: folder.name)
def test_kept_intervals_are_those_of_the_kept_episodes(folder):
    assert_frame_equal(pl.read_parquet(folder / STATISTICS).sort("statistic_id"), _recomputed(folder))


@pytest.mark.parametrize("folder", KEPT, ids=lambda folder: folder.name)
def test_every_kept_training_example_is_of_a_kept_trace(folder):
    examples = pl.read_parquet(folder / "training_examples.parquet")
    assert examples.join(pl.read_parquet(folder / EPISODES), on="episode_id", how="anti").is_empty()
