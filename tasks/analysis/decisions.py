"""Decisions on a comparison: equivalence, smallest detectable difference, correction for several tests."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from carryover.tasks.analysis.alignment import Aligned, Arms, Values, means
from carryover.tasks.analysis.intervals import Resamples, difference, point_estimate, resample
from carryover.tasks.analysis.statistic_rows import StatisticGroup
from carryover.tasks.analysis.statistics_spec import Comparison, StatisticsSpec
from carryover.tasks.traces.result_rows import StatisticRow


class Equivalence(NamedTuple):
    """Result of two one-sided tests."""

    p_value: float | None
    """The larger of the two one-sided p-values; None if nothing was tested."""
    low: float | None
    """Lower end of the 1 - 2 alpha interval of the mean difference."""
    high: float | None
    method: str
    note: str | None

    def verdict(self, p_holm: float | None, alpha: float) -> str:
        """Return the verdict that the corrected p-value allows.

        Without a test, only that all pairs are equal.
        """
        if p_holm is None:
            if self.low == self.high == 0:
                return "identical"
            return "no test"
        if p_holm < alpha:
            return "equivalent"
        return "equivalence not shown"


def two_one_sided_tests(differences: Values, *, margin: float, alpha: float) -> Equivalence:
    """Test mean paired differences within +- `margin` by TOST.

    Two one-sided paired t-tests; the margin has the differences' unit.
    """
    method = f"two one-sided paired t-tests, margin {margin:g}, alpha {alpha:g}"
    if differences.size < 2:
        return Equivalence(None, None, None, method, f"no test: {differences.size} pairs, 2 are needed")
    if np.ptp(differences) == 0:
        mean = float(differences.mean())
        return Equivalence(None, mean, mean, method, f"no test: all {differences.size} differences equal {mean:g}")
    above: Any = stats.ttest_1samp(differences, -margin, alternative="greater")
    below: Any = stats.ttest_1samp(differences, margin, alternative="less")
    low = above.confidence_interval(1 - alpha).low
    high = below.confidence_interval(1 - alpha).high
    return Equivalence(float(max(above.pvalue, below.pvalue)), float(low), float(high), method, None)


def two_one_sided_shares(resampled: Values, *, margin: float, alpha: float, drawn: str) -> Equivalence:
    """Test a mean difference within +- `margin` by bootstrap resamples.

    `drawn` says in words what was resampled; resamples without a value are left out, and the note counts them. The
    one-sided p-values are the shares of resamples at or beyond each end of the margin, the sample itself counted as
    one more resample (Davison and Hinkley 1997, section 4.2), so that no p-value is 0.
    """
    method = f"bootstrap percentile, {drawn}, margin {margin:g}, alpha {alpha:g}"
    values = np.round(resampled[np.isfinite(resampled)], 9)
    if not values.size:
        return Equivalence(None, None, None, method, "no test: no resample has a value")
    low = float(np.percentile(values, 100 * alpha))
    high = float(np.percentile(values, 100 * (1 - alpha)))
    if np.ptp(values) == 0:
        return Equivalence(None, low, high, method, f"no test: the difference is {low:g} in every resample")
    beyond = max(int((values <= -margin).sum()), int((values >= margin).sum()))
    dropped = resampled.size - values.size
    note = None
    if dropped:
        note = f"{dropped} of {resampled.size} resamples are undefined and left out"
    return Equivalence((1 + beyond) / (1 + values.size), low, high, method, note)


def equivalence_rows(
    group: StatisticGroup, arms: Arms, comparisons: Sequence[Comparison], spec: StatisticsSpec
) -> Iterator[StatisticRow]:
    """Yield a test of equal mean scores per comparison and margin.

    With one training seed it is a pair of t-tests over instances. With several, seeds and instances are resampled, as
    for every other interval. Margins other than `equivalence_margin` are a sensitivity analysis of their own.
    """
    pairs = [_Pair(one, arms.align("score", one.a, one.b)) for one in comparisons]
    resamples = [pair.resample(spec) for pair in pairs]
    for margin in dict.fromkeys((spec.equivalence_margin, *spec.sensitivity_margins)):
        is_main = margin == spec.equivalence_margin
        analysis = "equivalence" if is_main else f"equivalence_within_{100 * margin:g}_points"
        tests = [pair.test(drawn, margin, spec.alpha) for pair, drawn in zip(pairs, resamples, strict=True)]
        # A family for each margin: the other margins ask the same question again, and no claim stands on them.
        corrected = holm([test.p_value for test in tests])
        for pair, drawn, test, p_holm in zip(pairs, resamples, tests, corrected, strict=True):
            yield group.comparison_row(
                analysis,
                pair.comparison,
                "score",
                pair_count=pair.scores.instance_count,
                **means(pair.scores),
                estimate=point_estimate(pair.scores, difference),
                confidence=1 - 2 * spec.alpha,
                interval_kind="t" if drawn is None else "percentile",
                p_holm=p_holm,
                verdict=test.verdict(p_holm, spec.alpha),
                **test._replace(method=f"equivalence, {test.method}")._asdict(),
            )


class _Pair(NamedTuple):
    """The scores of a comparison's two arms."""

    comparison: Comparison
    scores: Aligned

    def resample(self, spec: StatisticsSpec) -> Resamples | None:
        """Return resampled differences with several training seeds; else None."""
        if self.scores.seed_count < 2 or self.scores.instance_count < 2:
            return None
        return resample(self.scores, difference, spec)

    def test(self, drawn: Resamples | None, margin: float, alpha: float) -> Equivalence:
        """Test whether the means are equal within a margin."""
        if drawn is None:
            return two_one_sided_tests(np.subtract(*self.scores.per_instance()), margin=margin, alpha=alpha)
        return two_one_sided_shares(drawn.statistics, margin=margin, alpha=alpha, drawn=drawn.drawn)


def smallest_detectable_difference(differences: Values, *, alpha: float, power: float) -> float | None:
    """Return the mean paired difference that this sample detects.

    (z(1 - alpha/2) + z(power)) times the standard deviation of the differences over the root of their number; None
    for fewer than two pairs, and for differences that are all equal: a sample without spread says nothing of it.
    """
    if differences.size < 2 or np.ptp(differences) == 0:
        return None
    quantiles = stats.norm.ppf(1 - alpha / 2) + stats.norm.ppf(power)
    return float(quantiles * differences.std(ddof=1) / np.sqrt(differences.size))


def holm_family(tests: Iterable[StatisticRow]) -> Iterator[StatisticRow]:
    """Yield the tests of one family with Holm-corrected p-values."""
    rows = list(tests)
    for row, p_holm in zip(rows, holm([row.p_value for row in rows]), strict=True):
        yield row.model_copy(update={"p_holm": p_holm})


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return Holm's step-down p-values in the given order.

    A null counts too: a plan fixes its family, however many of its tests turn out to have a spread. Who compares runs
    without a plan gives the tested ones alone.
    """
    ranked = sorted((p_value, index) for index, p_value in enumerate(p_values) if p_value is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p_value, index) in enumerate(ranked):
        # Step-down: a larger p-value is never corrected to a smaller one.
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_value))
        adjusted[index] = largest
    return adjusted
