"""The A/A control: one model played again with other decoding seeds, tested as if its replicates were two models."""

from collections.abc import Iterator
from typing import Any

import polars as pl
from scipy import stats

from carryover.tasks.analysis.alignment import Arms
from carryover.tasks.analysis.decisions import holm_family
from carryover.tasks.analysis.paired_tests import signed_rank
from carryover.tasks.analysis.spec import METRICS, ComparedArm, StatisticsSpec
from carryover.tasks.analysis.statistic_rows import StatisticGroup, averaged_over_seeds
from carryover.tasks.traces.result_rows import StatisticRow


def replicate_rows(group: StatisticGroup, arms: Arms, spec: StatisticsSpec) -> Iterator[StatisticRow]:
    """Yield a signed-rank test per trained arm, pair of replicates (0, 1) and metric, and the share that rejects.

    Nothing comes of a group without replicates. Holm's correction is over all tests of the group; the share is of the
    raw p-values, about `alpha` where the null hypothesis holds by construction. Its interval is the exact binomial one,
    as if the tests were independent, which those of one pair are not. A test without two differences is none.
    """
    tests: list[StatisticRow] = []
    for arm in sorted(arm for arm in arms.planned if arm.train is not None):
        # no replicate is in two pairs
        for first, second in zip(arms.replicates[::2], arms.replicates[1::2], strict=False):
            played, again = (arms.episodes(arm).filter(pl.col("replicate") == one) for one in (first, second))
            tests += _pair_rows(group, f"replicates {first} and {second}", arm, played, again)
    yield from holm_family(tests)
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


def _pair_rows(
    group: StatisticGroup, name: str, arm: ComparedArm, played: pl.DataFrame, again: pl.DataFrame
) -> Iterator[StatisticRow]:
    pairs = played.join(again, on=["training_seed", "instance_id"], suffix="_again", nulls_equal=True)
    for metric in METRICS["replicates"]:
        both = pairs.select("instance_id", pl.col(metric, f"{metric}_again").cast(pl.Float64)).drop_nulls()
        # models of several training seeds share instances: an instance counts once, as its mean over them
        values = both.group_by("instance_id").mean().sort("instance_id").drop("instance_id").to_numpy()
        test = signed_rank(values[:, 0] - values[:, 1])
        mean_a, mean_b = (float(column.mean()) if len(column) else None for column in values.T)
        columns = test._asdict() | {"method": averaged_over_seeds(test.method, pairs["training_seed"].n_unique())}
        yield group.row("replicates", name, metric, arm, arm, mean_a=mean_a, mean_b=mean_b, **columns)
