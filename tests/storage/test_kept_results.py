"""The statistics that the repository keeps beside a study's rows are those of these rows."""

from importlib.resources import files
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from storage.results import STATISTICS, kept_statistics, read_statistics_spec
from storage.schemas import to_arrow

KEPT = sorted(entry for entry in Path(str(files("sql") / "results")).iterdir() if entry.is_dir())
BY_RESAMPLING = pl.col("interval_kind").is_in(["percentile", "BCa"]).fill_null(value=False)


def _recomputed(folder: Path, **changes: int) -> pl.DataFrame:
    spec = read_statistics_spec(folder).model_copy(update=changes)
    return pl.DataFrame(to_arrow(kept_statistics(folder, spec))).sort("statistic_id")


@pytest.mark.parametrize("folder", KEPT, ids=lambda folder: folder.name)
def test_kept_statistics_are_those_of_the_kept_episodes(folder):
    kept = pl.read_parquet(folder / STATISTICS).sort("statistic_id")
    recomputed = _recomputed(folder, resample_count=20)  # all but the ends of intervals is there without resamples
    interval = ["low", "high", "p_value", "p_holm", "verdict", "method", "note"]
    assert_frame_equal(kept.drop(interval), recomputed.drop(interval))
    assert_frame_equal(kept.filter(~BY_RESAMPLING), recomputed.filter(~BY_RESAMPLING))


@pytest.mark.slow
@pytest.mark.parametrize("folder", KEPT, ids=lambda folder: folder.name)
def test_kept_intervals_are_those_of_the_kept_episodes(folder):
    assert_frame_equal(pl.read_parquet(folder / STATISTICS).sort("statistic_id"), _recomputed(folder))
