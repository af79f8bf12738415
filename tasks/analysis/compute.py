"""Every statistic of a plan, from the rows of `marts.episode_metrics` to rows of `statistics`."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from tasks.analysis.alignment import Aligned, ArmTable, align, arm_table
from tasks.analysis.decisions import holm, smallest_detectable_difference, two_one_sided_tests
from tasks.analysis.intervals import Interval, MeanStatistic, bootstrap_intervals, point_estimate
from tasks.analysis.rank_tests import SignedRank, mcnemar_exact, signed_rank
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
    arms = _Arms(episodes)
    rows = [
        row for arm in arms.present for metric in MEAN_METRICS for row in _mean_rows(group, arms, arm, metric, spec)
    ]
    compared = [comparison for comparison in COMPARISONS if arms.has(comparison.a, comparison.b)]
    for comparison in compared:
        rows.extend(_comparison_rows(group, arms, comparison, spec))
    for metric in RANK_TEST_METRICS:
        rows.extend(_rank_test_rows(group, arms, compared, metric))
    for comparison in COST_COMPARISONS:
        if arms.has(comparison.a, comparison.b):
            rows.extend(_interval_rows(group, arms, comparison, spec))
    if arms.has(PP, PS, SP, SS):
        rows.extend(_interaction_rows(group, arms, spec))
    rows.extend(replicate_rows(group, arms.frames, spec))
    return rows


class _Arms:
    """One group's episodes by arm, laid out once per metric."""

    def __init__(self, episodes: pl.DataFrame) -> None:
        parts = episodes.partition_by("train_contract", "runtime_contract", as_dict=True)
        self.frames = {Arm(train, runtime): frame for (train, runtime), frame in parts.items()}
        self._tables: dict[tuple[Arm, str], ArmTable] = {}

    @property
    def present(self) -> list[Arm]:
        """Arms with episodes, in a fixed order."""
        return sorted(self.frames, key=lambda arm: (arm.train or "", arm.runtime))

    def has(self, *arms: Arm) -> bool:
        return all(arm in self.frames for arm in arms)

    def align(self, metric: str, *arms: Arm) -> Aligned:
        return align([self._table(arm, metric) for arm in arms])

    def _table(self, arm: Arm, metric: str) -> ArmTable:
        if (arm, metric) not in self._tables:
            self._tables[arm, metric] = arm_table(self.frames[arm], metric)
        return self._tables[arm, metric]


def _mean_rows(
    group: StatisticGroup, arms: _Arms, arm: Arm, metric: str, spec: StatisticsSpec
) -> Iterator[StatisticRow]:
    aligned = arms.align(metric, arm)
    cell = f"{arm.train or 'base'}->{arm.runtime}"
    for interval in bootstrap_intervals(aligned, _only, spec):
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
    group: StatisticGroup, arms: _Arms, comparison: Comparison, spec: StatisticsSpec
) -> Iterator[StatisticRow]:
    yield from _interval_rows(group, arms, comparison, spec)
    scores = arms.align("score", comparison.a, comparison.b)
    row = partial(group.row, comparison_group=comparison.group, a=comparison.a, b=comparison.b)
    if scores.instance_count:
        yield _equivalence_row(row, scores, spec)
        yield _power_row(row, scores, spec)
    for metric in BINARY_METRICS:
        aligned = arms.align(metric, comparison.a, comparison.b)
        yield _mcnemar_row(row, aligned, metric)


def _interval_rows(
    group: StatisticGroup, arms: _Arms, comparison: Comparison, spec: StatisticsSpec
) -> Iterator[StatisticRow]:
    wanted: list[tuple[str, str, MeanStatistic]] = [
        ("difference", metric, _difference) for metric in DIFFERENCE_METRICS
    ]
    wanted += [("ratio", metric, _ratio) for metric in RATIO_METRICS]
    for analysis, metric, statistic in wanted:
        aligned = arms.align(metric, comparison.a, comparison.b)
        means = _means(aligned)
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


def _rank_test_rows(
    group: StatisticGroup, arms: _Arms, comparisons: list[Comparison], metric: str
) -> Iterator[StatisticRow]:
    """Yield one signed-rank test per comparison; Holm's correction is over the comparisons of this group and metric."""
    aligned = [arms.align(metric, comparison.a, comparison.b) for comparison in comparisons]
    tests = [_test_pairs(pair) for pair in aligned]
    corrected = holm([test.p_value for test in tests])
    for comparison, pair, test, p_holm in zip(comparisons, aligned, tests, corrected, strict=True):
        means = _means(pair)
        yield group.row(
            "wilcoxon",
            comparison.group,
            metric,
            comparison.a,
            comparison.b,
            mean_a=means[0],
            mean_b=means[1],
            estimate=point_estimate(pair, _difference),
            p_holm=p_holm,
            **_of_instances(test, pair, _difference)._asdict(),
        )


def _test_pairs(aligned: Aligned) -> SignedRank:
    a, b = aligned.per_instance()
    return signed_rank(a - b)


def _of_instances(test: SignedRank, aligned: Aligned, statistic: MeanStatistic) -> SignedRank:
    """Say what the test counted where several models, one per training seed, played every instance.

    Their pairs on one instance are not independent, so the instance is the unit and its mean over the seeds its value.
    That says nothing about other seeds; in how many of these the difference has the same sign is what there is.
    """
    if aligned.seed_count < 2:
        return test
    estimates = [statistic(*means) for means in aligned.seed_means()]
    same = sum(bool(np.sign(alone) == np.sign(point_estimate(aligned, statistic) or 0)) for alone in estimates)
    agreement = f"{same} of {len(estimates)} training seeds alone have the estimate's sign"
    return test._replace(
        method=averaged_over_seeds(test.method, aligned.seed_count), note=_joined(test.note, agreement)
    )


def _joined(*notes: str | None) -> str | None:
    return "; ".join(note for note in notes if note) or None


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
    interval = bootstrap_intervals(scores, _difference, spec, confidence=1 - 2 * spec.alpha)[0]
    means, verdict = _means(scores), None
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
        | {"method": f"{interval.method}, margin {spec.equivalence_margin:g}, alpha {spec.alpha:g}"},
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


def _mcnemar_row(row: partial[StatisticRow], aligned: Aligned, metric: str) -> StatisticRow:
    """Return the test over instances, of the first replicate of each training seed: the others repeat a comparison."""
    first = aligned.first_draws()
    test = mcnemar_exact(*first.arms)
    a, b = (values[~np.isnan(first.arms[0])] for values in first.arms)
    left_out = len(aligned.training_seeds) - len(first.training_seeds)
    repeated = f"first replicate of a seed only, {left_out} further left out" if left_out else None
    unit = f"the majority of its pairs over {first.seed_count} training seeds" if first.seed_count > 1 else "its pair"
    return row(
        "mcnemar",
        metric=metric,
        pair_count=test.instance_count,
        nonzero_count=test.only_a_count + test.only_b_count,
        mean_a=float(a.mean()) if a.size else None,
        mean_b=float(b.mean()) if b.size else None,
        statistic=float(test.only_a_count),
        p_value=test.p_value,
        method=f"{test.method}, one value per instance: {unit}",
        note=_joined(test.note, repeated),
    )


def _interaction_rows(group: StatisticGroup, arms: _Arms, spec: StatisticsSpec) -> Iterator[StatisticRow]:
    """Yield (P->P - P->S) - (S->P - S->S), and its ratio form (P->P / P->S) / (S->P / S->S), paired by instance.

    The signed-rank test of the contrasts is a row of its own, with its own method and note.
    """
    wanted: list[tuple[str, str, MeanStatistic]] = [
        ("interaction", metric, _contrast) for metric in INTERACTION_METRICS
    ]
    wanted += [("interaction_ratio", metric, _ratio_of_ratios) for metric in INTERACTION_RATIO_METRICS]
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
            test = _of_instances(signed_rank(_contrast(*aligned.per_instance())), aligned, _contrast)
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


def _means(aligned: Aligned) -> list[float | None]:
    return [float(values.mean()) if values.size else None for values in aligned.per_instance()]


def _only(a: Any) -> Any:
    return a


def _difference(a: Any, b: Any) -> Any:
    return a - b


def _ratio(a: Any, b: Any) -> Any:
    return a / b


def _contrast(pp: Any, ps: Any, sp: Any, ss: Any) -> Any:
    return (pp - ps) - (sp - ss)


def _ratio_of_ratios(pp: Any, ps: Any, sp: Any, ss: Any) -> Any:
    return (pp / ps) / (sp / ss)
