"""Every statistic of a plan, from the rows of `marts.episode_metrics` to rows of `statistics`."""

from collections.abc import Iterator

import numpy as np
import polars as pl

from carryover.tasks.analysis.alignment import Arms, mean_pair
from carryover.tasks.analysis.decisions import equivalence_rows, holm, smallest_detectable_difference
from carryover.tasks.analysis.intervals import (
    Interval,
    MeanStatistic,
    all_intervals,
    contrast,
    difference,
    itself,
    point_estimate,
    ratio,
    ratio_of_ratios,
)
from carryover.tasks.analysis.paired_tests import mcnemar_rows, rank_test_rows, signed_rank, told_of_instances
from carryover.tasks.analysis.replicates import replicate_rows
from carryover.tasks.analysis.spec import (
    BINARY_METRICS,
    COMPARISONS,
    COST_COMPARISONS,
    DIFFERENCE_METRICS,
    INJECTION_COMPARISONS,
    INTERACTION_METRICS,
    INTERACTION_RATIO_METRICS,
    MEAN_METRICS,
    PP,
    PS,
    RANK_TEST_METRICS,
    RATIO_METRICS,
    SP,
    SS,
    Arm,
    Comparison,
    StatisticsSpec,
)
from carryover.tasks.analysis.statistic_rows import GROUP_COLUMNS, StatisticGroup, averaged_over_seeds
from carryover.tasks.running.progress import OpenBar, no_bar
from carryover.tasks.traces.study_rows import StatisticRow


def compute_statistics(
    episodes: pl.DataFrame,
    *,
    plan_digest: str,
    run_id: str,
    spec: StatisticsSpec | None = None,
    open_bar: OpenBar = no_bar,
) -> list[StatisticRow]:
    """Return the statistics of a plan's evaluation episodes, group by group.

    `episodes` has the columns of `marts.episode_metrics`; other plans' rows, teachers' rows and episodes that
    failed are left out. A group is one bucket under one variant, base, visibility and header: comparisons never
    leave it. Comparisons of arms that a group lacks are skipped. `open_bar` shows the analyses.
    """
    chosen = episodes.filter(
        (pl.col("plan_digest") == plan_digest) & (pl.col("purpose") == "evaluation") & pl.col("is_counted")
    )
    analyses: list[Iterator[StatisticRow]] = []
    for key, frame in sorted(chosen.group_by(*GROUP_COLUMNS), key=lambda pair: str(pair[0])):
        group = StatisticGroup(run_id, plan_digest, *(str(value) for value in key))
        analyses += group_analyses(group, Arms(frame), spec or StatisticsSpec())
    rows: list[StatisticRow] = []
    with open_bar("statistics", len(analyses), "analyses") as advance:
        for analysis in analyses:
            rows.extend(analysis)
            advance(1)
    return rows


def group_analyses(group: StatisticGroup, arms: Arms, spec: StatisticsSpec) -> Iterator[Iterator[StatisticRow]]:
    """Yield the analyses of one group: means, paired comparisons, interactions; each is computed as it is read."""
    for arm in arms.present:
        for metric in MEAN_METRICS:
            yield _mean_rows(group, arms, arm, metric, spec)
    compared = [comparison for comparison in COMPARISONS if arms.has(comparison.a, comparison.b)]
    for comparison in compared:
        yield _comparison_rows(group, arms, comparison, spec)
    yield equivalence_rows(group, arms, compared, spec)
    for metric in RANK_TEST_METRICS:
        yield rank_test_rows(group, arms, compared, metric)
    for metric in BINARY_METRICS:
        yield mcnemar_rows(group, arms, compared, metric)
    for comparison in (*COST_COMPARISONS, *INJECTION_COMPARISONS):
        if arms.has(comparison.a, comparison.b):
            yield _interval_rows(group, arms, comparison, spec)
    if arms.has(PP, PS, SP, SS):
        yield _interaction_rows(group, arms, spec)
        yield _interaction_tests(group, arms)
    yield replicate_rows(group, arms.frames, spec)


def _mean_rows(
    group: StatisticGroup, arms: Arms, arm: Arm, metric: str, spec: StatisticsSpec
) -> Iterator[StatisticRow]:
    aligned = arms.align(metric, arm)
    cell = f"{arm.train or 'base'}->{arm.runtime}"
    for interval in all_intervals(aligned, itself, spec):
        values = {"mean_a": interval.estimate, "confidence": spec.confidence, **interval._asdict()}
        yield group.row("mean", cell, metric, arm, **values)


def _comparison_rows(
    group: StatisticGroup, arms: Arms, comparison: Comparison, spec: StatisticsSpec
) -> Iterator[StatisticRow]:
    """Yield the intervals of a comparison, and the smallest difference of scores that its sample could show."""
    yield from _interval_rows(group, arms, comparison, spec)
    scores = arms.align("score", comparison.a, comparison.b)
    if not scores.instance_count:
        return
    differences = np.subtract(*scores.per_instance())
    smallest = smallest_detectable_difference(differences, alpha=spec.alpha, power=spec.power)
    method = f"smallest detectable mean difference, normal approximation, alpha {spec.alpha:g}, power {spec.power:g}"
    few = f"{differences.size} pairs, 2 are needed"
    equal = f"no spread: all {differences.size} differences are {differences[0]:g}"
    yield group.comparison_row(
        "power",
        comparison,
        "score",
        pair_count=differences.size,
        estimate=smallest,
        method=averaged_over_seeds(method, scores.seed_count),
        note=None if smallest is not None else few if differences.size < 2 else equal,
    )


def _interval_rows(
    group: StatisticGroup, arms: Arms, comparison: Comparison, spec: StatisticsSpec
) -> Iterator[StatisticRow]:
    wanted: list[tuple[str, str, MeanStatistic]] = [("difference", metric, difference) for metric in DIFFERENCE_METRICS]
    wanted += [("ratio", metric, ratio) for metric in RATIO_METRICS]
    for analysis, metric, statistic in wanted:
        aligned = arms.align(metric, comparison.a, comparison.b)
        means = mean_pair(aligned)
        for interval in all_intervals(aligned, statistic, spec):
            values = {"mean_a": means[0], "mean_b": means[1], "confidence": spec.confidence, **interval._asdict()}
            yield group.comparison_row(analysis, comparison, metric, **values)


def _interaction_rows(group: StatisticGroup, arms: Arms, spec: StatisticsSpec) -> Iterator[StatisticRow]:
    """Yield (P->P - P->S) - (S->P - S->S), and its ratio form (P->P / P->S) / (S->P / S->S), paired by instance."""
    wanted: list[tuple[str, str, MeanStatistic]] = [("interaction", metric, contrast) for metric in INTERACTION_METRICS]
    wanted += [("interaction_ratio", metric, ratio_of_ratios) for metric in INTERACTION_RATIO_METRICS]
    for analysis, metric, statistic in wanted:
        aligned = arms.align(metric, PP, PS, SP, SS)
        for interval in all_intervals(aligned, statistic, spec):
            side = _side(interval, 0.0 if analysis == "interaction" else 1.0)
            values = {"verdict": side, "confidence": spec.confidence, **interval._asdict()}
            yield group.row(analysis, "train_x_runtime", metric, **values)


def _interaction_tests(group: StatisticGroup, arms: Arms) -> Iterator[StatisticRow]:
    """Yield the signed-rank test of the contrasts per metric; Holm's correction is over the metrics of the group."""
    contrasts = [(metric, arms.align(metric, PP, PS, SP, SS)) for metric in INTERACTION_METRICS]
    tests = [signed_rank(contrast(*aligned.per_instance())) for _, aligned in contrasts]
    corrected = holm([test.p_value for test in tests])
    for (metric, aligned), test, p_holm in zip(contrasts, tests, corrected, strict=True):
        yield group.row(
            "interaction_wilcoxon",
            "train_x_runtime",
            metric,
            estimate=point_estimate(aligned, contrast),
            p_holm=p_holm,
            **told_of_instances(test, aligned, contrast)._asdict(),
        )


def _side(interval: Interval, null_value: float) -> str | None:
    """Say on which side of no interaction an interval lies."""
    if interval.low is None or interval.high is None:
        return None
    if interval.low > null_value:
        return f"above {null_value:g}"
    return f"below {null_value:g}" if interval.high < null_value else f"includes {null_value:g}"
