"""Two runs compared by instance: tests and intervals per metric."""

from typing import NamedTuple

import numpy as np
import polars as pl

from carryover.tasks.analysis.alignment import Aligned, align, arm_table
from carryover.tasks.analysis.decisions import holm
from carryover.tasks.analysis.intervals import bootstrap_intervals, difference, ratio
from carryover.tasks.analysis.paired_tests import rank_test
from carryover.tasks.analysis.statistics_spec import StatisticsSpec
from carryover.tasks.services.errors import UserError

RUN_METRICS = ("score", "total_tokens", "completion_tokens", "step_count", "missing_name_count")
"""Metrics that two runs are compared in; those that can be tested are the family of Holm's correction."""
_RATIOS = ("total_tokens", "completion_tokens")


class PairedMetric(NamedTuple):
    """One metric of two runs, on shared instances."""

    metric: str
    instance_count: int
    mean_a: float | None = None
    mean_b: float | None = None
    difference: float | None = None
    """Mean of a minus b."""
    difference_low: float | None = None
    difference_high: float | None = None
    """Ends of the percentile bootstrap interval over instances."""
    ratio: float | None = None
    """Mean of a over mean of b, for tokens."""
    ratio_low: float | None = None
    ratio_high: float | None = None
    p_value: float | None = None
    """Wilcoxon's signed-rank test, two-sided."""
    p_holm: float | None = None
    effect_size: float | None = None
    """Rank-biserial correlation."""
    note: str | None = None


def pair_runs(a: pl.DataFrame, b: pl.DataFrame, spec: StatisticsSpec | None = None) -> list[PairedMetric]:
    """Compare two runs by instance, given a row per episode.

    Raise `UserError` where no instance is in both.
    """
    shared = set(a["instance_id"]) & set(b["instance_id"])
    if not shared:
        examples = [str(frame["instance_id"].min()) for frame in (a, b)]
        raise UserError(f"no instance is in both runs: one has {examples[0]!r}, the other {examples[1]!r}")
    chosen = spec or StatisticsSpec()
    rows = [_paired(metric, _aligned(metric, a, b), chosen) for metric in RUN_METRICS]
    tested = [row for row in rows if row.p_value is not None]
    corrected = dict(zip((row.metric for row in tested), holm([row.p_value for row in tested]), strict=True))
    return [row._replace(p_holm=corrected.get(row.metric)) for row in rows]


def _aligned(metric: str, a: pl.DataFrame, b: pl.DataFrame) -> Aligned:
    return align([arm_table(_per_instance(frame, metric), metric) for frame in (a, b)])


def _per_instance(episodes: pl.DataFrame, metric: str) -> pl.DataFrame:
    """Return one row per instance: the mean over its episodes."""
    seedless = {"training_seed": pl.lit(None, dtype=pl.Int64), "replicate": pl.lit(0)}
    return episodes.group_by("instance_id").agg(pl.col(metric).cast(pl.Float64).mean()).with_columns(**seedless)


def _paired(metric: str, pair: Aligned, spec: StatisticsSpec) -> PairedMetric:
    if not pair.instance_count:
        return PairedMetric(metric, 0, note="no instance has a value in both runs")
    a, b = pair.per_instance()
    test = rank_test(pair, difference)
    (apart, _) = bootstrap_intervals(pair, difference, spec)
    relative = None
    if metric in _RATIOS:
        relative = bootstrap_intervals(pair, ratio, spec)[0]
    return PairedMetric(
        metric=metric,
        instance_count=pair.instance_count,
        mean_a=float(np.mean(a)),
        mean_b=float(np.mean(b)),
        difference=apart.estimate,
        difference_low=apart.low,
        difference_high=apart.high,
        ratio=relative.estimate if relative else None,
        ratio_low=relative.low if relative else None,
        ratio_high=relative.high if relative else None,
        p_value=test["p_value"],
        p_holm=None,
        effect_size=test["effect_size"],
        note=test["note"] or apart.note,
    )
