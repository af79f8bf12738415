"""The A/A control: one model played twice with other decoding seeds, tested as if its replicates were two models."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl
from scipy import stats

from tasks.analysis.decisions import holm
from tasks.analysis.rank_tests import signed_rank
from tasks.analysis.spec import REPLICATE_METRICS, Arm, StatisticsSpec
from tasks.analysis.statistic_rows import StatisticGroup, averaged_over_seeds
from tasks.traces.study_rows import StatisticRow


def replicate_rows(
    group: StatisticGroup, frames: Mapping[Arm, pl.DataFrame], spec: StatisticsSpec
) -> Iterator[StatisticRow]:
    """Yield a signed-rank test of replicate 0 against 1 per trained arm and metric, and the share that rejects.

    Nothing comes of a group without replicates. Holm's correction is over all tests of the group; the share is of the
    raw p-values. Where the null hypothesis holds by construction, the share is to be
    about `alpha`; its interval is the exact binomial one, as if the tests were independent, which those of one arm are
    not. A test without two differences is none.
    """
    tests = [row for arm, frame in _replicated(frames) for row in _arm_rows(group, arm, frame)]
    corrected = holm([row.p_value for row in tests])
    yield from (row.model_copy(update={"p_holm": p_holm}) for row, p_holm in zip(tests, corrected, strict=True))
    p_values = [row.p_value for row in tests if row.p_value is not None]
    if p_values:
        rejections = sum(p_value < spec.alpha for p_value in p_values)
        interval: Any = stats.binomtest(rejections, len(p_values)).proportion_ci(spec.confidence, method="exact")
        yield group.row(
            "replicate_rejections",
            "a_a",
            f"p below {spec.alpha:g}",
            pair_count=len(p_values),
            nonzero_count=rejections,
            estimate=rejections / len(p_values),
            low=float(interval.low),
            high=float(interval.high),
            confidence=spec.confidence,
            interval_kind="exact binomial",
            method="share of tests, exact binomial interval",
        )


def _replicated(frames: Mapping[Arm, pl.DataFrame]) -> Iterator[tuple[Arm, pl.DataFrame]]:
    for arm in sorted(frames, key=lambda arm: (arm.train or "", arm.runtime)):
        if arm.train is not None and frames[arm]["replicate"].n_unique() > 1:
            yield arm, frames[arm]


def _arm_rows(group: StatisticGroup, arm: Arm, frame: pl.DataFrame) -> Iterator[StatisticRow]:
    keys = ["training_seed", "instance_id"]
    first, second = (frame.filter(pl.col("replicate") == replicate) for replicate in (0, 1))
    pairs = first.join(second, on=keys, suffix="_again", nulls_equal=True)
    for metric in REPLICATE_METRICS:
        both = pairs.select("instance_id", pl.col(metric, f"{metric}_again").cast(pl.Float64)).drop_nulls()
        # models of several training seeds share instances: an instance counts once, as its mean over them
        values = both.group_by("instance_id").mean().sort("instance_id").drop("instance_id").to_numpy()
        test = signed_rank(values[:, 0] - values[:, 1])
        seed_count = pairs["training_seed"].n_unique()
        yield group.row(
            "replicates",
            "a_a",
            metric,
            arm,
            arm,
            mean_a=float(values[:, 0].mean()) if len(values) else None,
            mean_b=float(values[:, 1].mean()) if len(values) else None,
            **test._replace(method=averaged_over_seeds(test.method, seed_count))._asdict(),
        )
