"""The statistics of a study, compared whole with the kept ones."""

import polars as pl
import pytest

from carryover.tasks.analysis.compute import compute_statistics
from tests.presets import kept_presets
from tests.tasks.analysis.test_compute import SPEC, episodes

NUMBERS = (
    "pair_count", "nonzero_count", "mean_a", "mean_b", "estimate", "low", "high", "confidence", "statistic", "p_value",
    "p_holm", "effect_size", "effect_size_authors",
)  # fmt: skip


def beside_scripts():
    """Episodes of two seeds, the second a little worse and longer, and of both contracts' scripts."""
    played = episodes(seeds=(0, 1)).with_columns(
        (pl.col("score") - 0.05 * pl.col("training_seed").fill_null(0)).alias("score"),
        (pl.col("total_tokens") + 7 * pl.col("training_seed").fill_null(0)).alias("total_tokens"),
    )
    at_home = episodes().filter(pl.col("train_contract") == pl.col("runtime_contract"))
    scripts = at_home.with_columns(pl.lit("teacher").alias("base"), pl.col("score") * 0.9)
    return pl.concat([played, scripts], how="vertical_relaxed")


def whole(rows, metrics):
    """Return the statistics of metrics: their words, each with its numbers."""
    told = {}
    for row in rows:
        is_like_others = row.comparison_group in ("trained_vs_base", "mismatched_vs_base", "fixed_runtime")
        if row.base == "teacher" or is_like_others or row.metric not in metrics:
            continue
        arms = f"{row.train_a}>{row.runtime_a} {row.train_b}>{row.runtime_b}"
        words = (row.analysis, row.comparison_group, row.metric, arms, row.interval_kind, row.method)
        numbers = [-1.0 if (number := getattr(row, name)) is None else number for name in NUMBERS]
        told[" | ".join(map(str, words))] = [row.verdict, row.note, *numbers]
    return told


RECORDED = {
    "two seeds beside scripts": beside_scripts,
    "one seed": episodes,
    "instances that one seed lacks": lambda: beside_scripts().filter(
        (pl.col("instance_id") != "i2") | (pl.col("training_seed") != 1)
    ),
}


@pytest.mark.parametrize("name", RECORDED)
def test_statistics_are_the_kept_ones(name):
    metrics = ("score", "total_tokens", "is_solved") if name == "two seeds beside scripts" else ("score",)
    found = whole(compute_statistics(RECORDED[name](), plan_digest="plan", run_id="run", spec=SPEC), metrics)
    kept = kept_presets(__file__, "statistics.json")[name]
    assert list(found) == list(kept)
    for words, (verdict, note, *numbers) in kept.items():
        assert found[words][:2] == [verdict, note], words
        assert found[words][2:] == pytest.approx(numbers, rel=1e-9, abs=1e-9), words
