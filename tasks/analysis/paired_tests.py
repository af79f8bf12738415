"""Paired tests: Wilcoxon's signed-rank and McNemar's exact test."""

from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from carryover.tasks.analysis.alignment import Aligned, Arms, Values
from carryover.tasks.analysis.intervals import MeanStatistic, point_estimate
from carryover.tasks.analysis.statistic_rows import StatisticGroup, averaged_over_seeds
from carryover.tasks.analysis.statistics_spec import Comparison
from carryover.tasks.traces.result_rows import StatisticRow


class SignedRank(NamedTuple):
    """Result of a signed-rank test; None with fewer than two differences."""

    pair_count: int
    nonzero_count: int
    statistic: float | None
    """min(W+, W-)."""
    p_value: float | None
    effect_size: float | None
    """Signed rank-biserial correlation, (W+ - W-)/(W+ + W-)."""
    effect_size_authors: float | None
    """The authors' script's 1 - 2 min(W+, W-)/(n(n+1)) over the n non-zero differences, which equals (1 + |r|)/2."""
    method: str
    note: str | None


def signed_rank(differences: Values) -> SignedRank:
    """Test paired differences by signed ranks, two-sided, zeros dropped.

    Differences are rounded to nine decimals first, so that equal scores computed in different ways are ties. The
    distribution is SciPy's default, as in the authors' script: exact for up to 50 pairs without ties and zeros, all
    permutations of signs for up to 13 pairs with some, and the normal approximation otherwise.
    """
    rounded = np.round(differences, 9)
    nonzero = rounded[rounded != 0]
    if nonzero.size < 2:
        note = f"no test: {nonzero.size} of {rounded.size} differences are not zero, 2 are needed"
        return SignedRank(rounded.size, nonzero.size, None, None, None, None, "wilcoxon signed-rank, not run", note)
    has_ties_or_zeros = np.unique(np.abs(nonzero)).size < rounded.size
    if rounded.size <= 50 and not has_ties_or_zeros:
        method = "exact"
    elif rounded.size <= 13:
        method = "permutation"
    else:
        method = "asymptotic"
    distribution: Any = stats.PermutationMethod() if method == "permutation" else method
    result: Any = stats.wilcoxon(rounded, zero_method="wilcox", correction=False, method=distribution)
    ranks = stats.rankdata(np.abs(nonzero))
    positive = float(ranks[nonzero > 0].sum())
    negative = float(ranks[nonzero < 0].sum())
    return SignedRank(
        pair_count=rounded.size,
        nonzero_count=nonzero.size,
        statistic=float(result.statistic),
        p_value=float(result.pvalue),
        effect_size=(positive - negative) / (positive + negative),
        effect_size_authors=1 - 2 * min(positive, negative) / (nonzero.size * (nonzero.size + 1)),
        method=f"wilcoxon signed-rank, {method}, zero_method wilcox, no continuity correction, two-sided",
        note=None,
    )


class McNemar(NamedTuple):
    """Result of McNemar's exact test on paired yes/no outcomes."""

    instance_count: int
    only_a_count: int
    """Instances with more pairs in which only `a` is a yes than pairs in which only `b` is."""
    only_b_count: int
    p_value: float | None
    method: str
    note: str | None


def mcnemar_exact(a: Values, b: Values) -> McNemar:
    """Test whether paired yes/no outcomes differ, by exact binomial.

    `a` and `b` are by (training seed, instance), NaN where there is no pair. Pairs of several seeds on one instance
    are not independent, so every instance counts once, by the kind of which it has more discordant pairs: under one
    seed that is McNemar's test, under several the sign test of the instances.
    """
    differences = a - b
    lean = np.nansum(differences, axis=0)[~np.isnan(differences).all(axis=0)]
    only_a = int((lean > 0).sum())
    only_b = int((lean < 0).sum())
    if only_a + only_b == 0:
        return McNemar(lean.size, 0, 0, None, "mcnemar exact, not run", "no test: no instance is discordant")
    p_value = float(stats.binomtest(only_a, only_a + only_b, 0.5).pvalue)
    return McNemar(lean.size, only_a, only_b, p_value, "mcnemar exact, binomial, two-sided", None)


def rank_test(aligned: Aligned, statistic: MeanStatistic) -> dict[str, Any]:
    """Return the columns of a signed-rank test by instance.

    Pairs of several models, one per training seed, on one instance are not independent, so the instance is the unit and
    its mean over the seeds its value. That says nothing about other seeds; the note counts those of the same sign.
    """
    test = signed_rank(statistic(*aligned.per_instance()))
    estimate = point_estimate(aligned, statistic)
    note = test.note
    if aligned.seed_count > 1:
        signs = [np.sign(statistic(*means)) for means in aligned.seed_means()]
        same = signs.count(np.sign(estimate or 0))
        agreeing = f"{same} of {len(signs)} training seeds alone have the estimate's sign"
        note = f"{note}; {agreeing}" if note else agreeing
    method = averaged_over_seeds(test.method, aligned.seed_count)
    return {**test._asdict(), "estimate": estimate, "method": method, "note": note}


def mcnemar_row(group: StatisticGroup, arms: Arms, metric: str, comparison: Comparison) -> StatisticRow:
    """Return the exact test of a yes/no outcome.

    It takes the first replicate of each training seed, as the others repeat it.
    """
    pair = arms.align(metric, comparison.a, comparison.b)
    seeds = pair.training_seeds
    first = [row for row, seed in enumerate(seeds) if seed not in seeds[:row]]
    arm_a, arm_b = pair.arms
    a = arm_a[first]
    b = arm_b[first]
    test = mcnemar_exact(a, b)
    counted = "its pair"
    if len(first) > 1:
        counted = f"the majority of its pairs over {len(first)} training seeds"
    left_out = len(seeds) - len(first)
    notes = [test.note, f"first replicate of a seed only, {left_out} further left out" if left_out else None]
    return group.comparison_row(
        "mcnemar",
        comparison,
        metric,
        pair_count=test.instance_count,
        nonzero_count=test.only_a_count + test.only_b_count,
        mean_a=float(np.nanmean(a)) if test.instance_count else None,
        mean_b=float(np.nanmean(b)) if test.instance_count else None,
        statistic=float(test.only_a_count),
        p_value=test.p_value,
        method=f"{test.method}, one value per instance: {counted}",
        note="; ".join(filter(None, notes)) or None,
    )
