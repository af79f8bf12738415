"""Whether the mean scores of two arms are the same within a margin, one row per comparison."""

from collections.abc import Iterator, Sequence

from carryover.tasks.analysis.alignment import Aligned
from carryover.tasks.analysis.arms import Arms, mean_pair
from carryover.tasks.analysis.contrasts import difference
from carryover.tasks.analysis.decisions import Equivalence, holm, two_one_sided_shares, two_one_sided_tests
from carryover.tasks.analysis.resampling import resample
from carryover.tasks.analysis.spec import Comparison, StatisticsSpec
from carryover.tasks.analysis.statistic_rows import StatisticGroup
from carryover.tasks.traces.study_rows import IntervalKind, StatisticRow

METRIC = "score"


def equivalence_rows(
    group: StatisticGroup, arms: Arms, comparisons: Sequence[Comparison], spec: StatisticsSpec
) -> Iterator[StatisticRow]:
    """Yield a test of equal mean scores per comparison that has instances; Holm's correction is over all of them.

    With one training seed it is a pair of t-tests over instances. With several, seeds and instances are resampled, as
    for every other interval.
    """
    aligned = [(one, arms.align(METRIC, one.a, one.b)) for one in comparisons]
    present = [(one, scores) for one, scores in aligned if scores.instance_count]
    tests = [_test(scores, spec) for _, scores in present]
    corrected = holm([test.p_value for test in tests])
    for (comparison, scores), test, p_holm in zip(present, tests, corrected, strict=True):
        means = mean_pair(scores)
        kind: IntervalKind = "percentile" if scores.seed_count > 1 else "t"
        a, b = scores.per_instance()
        yield group.row(
            "equivalence",
            comparison.group,
            METRIC,
            comparison.a,
            comparison.b,
            pair_count=scores.instance_count,
            mean_a=means[0],
            mean_b=means[1],
            estimate=float((a - b).mean()),
            low=test.low,
            high=test.high,
            confidence=1 - 2 * spec.alpha,
            interval_kind=kind,
            p_value=test.p_value,
            p_holm=p_holm,
            verdict=_verdict(test),
            method=test.method,
            note=test.note,
        )


def _test(scores: Aligned, spec: StatisticsSpec) -> Equivalence:
    if scores.seed_count < 2:
        a, b = scores.per_instance()
        return two_one_sided_tests(a - b, margin=spec.equivalence_margin, alpha=spec.alpha)
    if scores.instance_count < 2:
        note = f"no test: {scores.instance_count} instances, 2 are needed"
        return Equivalence(None, None, None, None, "equivalence, bootstrap percentile, not run", note)
    resamples = resample(scores, difference, spec)
    return two_one_sided_shares(
        resamples.statistics, margin=spec.equivalence_margin, alpha=spec.alpha, drawn=resamples.drawn
    )


def _verdict(test: Equivalence) -> str | None:
    return {True: "equivalent", False: "equivalence not shown", None: None}[test.is_equivalent]
