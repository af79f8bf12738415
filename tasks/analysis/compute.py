"""Every statistic of a plan, from the rows of `marts.episode_metrics` to rows of `statistics`."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import polars as pl

from tasks.analysis.alignment import Aligned
from tasks.analysis.arms import Arms, mean_pair
from tasks.analysis.contrasts import contrast, difference, itself, ratio, ratio_of_ratios
from tasks.analysis.decisions import smallest_detectable_difference, two_one_sided_tests
from tasks.analysis.intervals import Interval, MeanStatistic, bootstrap_intervals, point_estimate
from tasks.analysis.paired_tests import mcnemar_rows, rank_test_rows, told_of_instances
from tasks.analysis.rank_tests import signed_rank
from tasks.analysis.replicates import replicate_rows
from tasks.analysis.spec import (
    BINARY_METRICS,
    COMPARISONS,
    COST_COMPARISONS,
    DIFFERENCE_METRICS,
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
from tasks.analysis.statistic_rows import GROUP_COLUMNS, StatisticGroup, averaged_over_seeds
from tasks.traces.study_rows import StatisticRow


def compute_statistics(
    episodes: pl.DataFrame, *, plan_digest: str, run_id: str, spec: StatisticsSpec | None = None
) -> list[StatisticRow]:
    """Return the statistics of a plan's evaluation episodes, group by group.

    `episodes` has the columns of `marts.episode_metrics`; other plans' rows, teachers' rows and episodes that
    failed are left out. A group is one bucket under one variant, base, visibility and header: comparisons never
    leave it. Comparisons of arms that a group lacks are skipped.
    """
    chosen = episodes.filter(
        (pl.col("plan_digest") == plan_digest) & (pl.col("purpose") == "evaluation") & pl.col("is_counted")
    )
    rows: list[StatisticRow] = []
    for key, frame in sorted(chosen.group_by(*GROUP_COLUMNS), key=lambda pair: str(pair[0])):
        group = StatisticGroup(run_id, plan_digest, *(str(value) for value in key))
        rows.extend(group_statistics(group, frame, spec or StatisticsSpec()))
    return rows


def group_statistics(group: StatisticGroup, episodes: pl.DataFrame, spec: StatisticsSpec) -> list[StatisticRow]:
    """Return the statistics of one group's episodes: means, paired comparisons, interactions."""
    arms = Arms(episodes)
    rows = [
        row for arm in arms.present for metric in MEAN_METRICS for row in _mean_rows(group, arms, arm, metric, spec)
    ]
    compared = [comparison for comparison in COMPARISONS if arms.has(comparison.a, comparison.b)]
    for comparison in compared:
        rows.extend(_comparison_rows(group, arms, comparison, spec))
    for metric in RANK_TEST_METRICS:
        rows.extend(rank_test_rows(group, arms, compared, metric))
    for metric in BINARY_METRICS:
        rows.extend(mcnemar_rows(group, arms, compared, metric))
    for comparison in COST_COMPARISONS:
        if arms.has(comparison.a, comparison.b):
            rows.extend(_interval_rows(group, arms, comparison, spec))
    if arms.has(PP, PS, SP, SS):
        rows.extend(_interaction_rows(group, arms, spec))
    rows.extend(replicate_rows(group, arms.frames, spec))
    return rows


def _mean_rows(
    group: StatisticGroup, arms: Arms, arm: Arm, metric: str, spec: StatisticsSpec
) -> Iterator[StatisticRow]:
    aligned = arms.align(metric, arm)
    cell = f"{arm.train or 'base'}->{arm.runtime}"
    for interval in bootstrap_intervals(aligned, itself, spec):
        yield group.row(
            "mean",
            cell,
            metric,
            arm,
            pair_count=aligned.instance_count,
            mean_a=interval.estimate,
            **_ends(interval, spec.confidence),
        )


def _comparison_rows(
    group: StatisticGroup, arms: Arms, comparison: Comparison, spec: StatisticsSpec
) -> Iterator[StatisticRow]:
    yield from _interval_rows(group, arms, comparison, spec)
    scores = arms.align("score", comparison.a, comparison.b)
    row = partial(group.row, comparison_group=comparison.group, a=comparison.a, b=comparison.b)
    if scores.instance_count:
        yield _equivalence_row(row, scores, spec)
        yield _power_row(row, scores, spec)


def _interval_rows(
    group: StatisticGroup, arms: Arms, comparison: Comparison, spec: StatisticsSpec
) -> Iterator[StatisticRow]:
    wanted: list[tuple[str, str, MeanStatistic]] = [("difference", metric, difference) for metric in DIFFERENCE_METRICS]
    wanted += [("ratio", metric, ratio) for metric in RATIO_METRICS]
    for analysis, metric, statistic in wanted:
        aligned = arms.align(metric, comparison.a, comparison.b)
        means = mean_pair(aligned)
        for interval in bootstrap_intervals(aligned, statistic, spec):
            yield group.row(
                analysis,
                comparison.group,
                metric,
                comparison.a,
                comparison.b,
                pair_count=aligned.instance_count,
                mean_a=means[0],
                mean_b=means[1],
                **_ends(interval, spec.confidence),
            )


def _equivalence_row(row: partial[StatisticRow], scores: Aligned, spec: StatisticsSpec) -> StatisticRow:
    if scores.seed_count > 1:
        return _crossed_equivalence_row(row, scores, spec)
    a, b = scores.per_instance()
    test = two_one_sided_tests(a - b, margin=spec.equivalence_margin, alpha=spec.alpha)
    verdicts = {True: "equivalent", False: "equivalence not shown", None: None}
    return row(
        "equivalence",
        metric="score",
        pair_count=a.size,
        mean_a=float(a.mean()),
        mean_b=float(b.mean()),
        estimate=float((a - b).mean()),
        low=test.low,
        high=test.high,
        confidence=1 - 2 * spec.alpha,
        p_value=test.p_value,
        verdict=verdicts[test.is_equivalent],
        method=test.method,
        note=test.note,
    )


def _crossed_equivalence_row(row: partial[StatisticRow], scores: Aligned, spec: StatisticsSpec) -> StatisticRow:
    """Return whether the 1 - 2 alpha interval over training seeds and instances lies within the margin."""
    interval = bootstrap_intervals(scores, difference, spec, confidence=1 - 2 * spec.alpha)[0]
    means, verdict = mean_pair(scores), None
    if interval.low is not None and interval.high is not None:
        is_within = -spec.equivalence_margin < interval.low and interval.high < spec.equivalence_margin
        verdict = "equivalent" if is_within else "equivalence not shown"
    return row(
        "equivalence",
        metric="score",
        pair_count=scores.instance_count,
        mean_a=means[0],
        mean_b=means[1],
        verdict=verdict,
        **_ends(interval, 1 - 2 * spec.alpha)
        | {"method": f"equivalence, {interval.method}, margin {spec.equivalence_margin:g}, alpha {spec.alpha:g}"},
    )


def _power_row(row: partial[StatisticRow], scores: Aligned, spec: StatisticsSpec) -> StatisticRow:
    a, b = scores.per_instance()
    smallest = smallest_detectable_difference(a - b, alpha=spec.alpha, power=spec.power)
    method = f"smallest detectable mean difference, normal approximation, alpha {spec.alpha:g}, power {spec.power:g}"
    return row(
        "power",
        metric="score",
        pair_count=a.size,
        estimate=smallest,
        method=averaged_over_seeds(method, scores.seed_count),
        note=None if smallest is not None else f"{a.size} pairs, 2 are needed",
    )


def _interaction_rows(group: StatisticGroup, arms: Arms, spec: StatisticsSpec) -> Iterator[StatisticRow]:
    """Yield (P->P - P->S) - (S->P - S->S), and its ratio form (P->P / P->S) / (S->P / S->S), paired by instance.

    The signed-rank test of the contrasts is a row of its own, with its own method and note.
    """
    wanted: list[tuple[str, str, MeanStatistic]] = [("interaction", metric, contrast) for metric in INTERACTION_METRICS]
    wanted += [("interaction_ratio", metric, ratio_of_ratios) for metric in INTERACTION_RATIO_METRICS]
    for analysis, metric, statistic in wanted:
        aligned = arms.align(metric, PP, PS, SP, SS)
        for interval in bootstrap_intervals(aligned, statistic, spec):
            yield group.row(
                analysis,
                "train_x_runtime",
                metric,
                pair_count=aligned.instance_count,
                verdict=_side(interval, 0.0 if analysis == "interaction" else 1.0),
                **_ends(interval, spec.confidence),
            )
        if analysis == "interaction":
            test = told_of_instances(signed_rank(contrast(*aligned.per_instance())), aligned, contrast)
            estimate = point_estimate(aligned, statistic)
            yield group.row("interaction_wilcoxon", "train_x_runtime", metric, estimate=estimate, **test._asdict())


def _side(interval: Interval, null_value: float) -> str | None:
    """Say on which side of no interaction an interval lies."""
    if interval.low is None or interval.high is None:
        return None
    if interval.low > null_value:
        return f"above {null_value:g}"
    return f"below {null_value:g}" if interval.high < null_value else f"includes {null_value:g}"


def _ends(interval: Interval, confidence: float) -> dict[str, Any]:
    fields = interval._asdict()
    fields.pop("kind")
    return {**fields, "confidence": confidence}
