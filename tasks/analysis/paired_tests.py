"""Tests of paired comparisons, one value per instance, with Holm's correction over the comparisons of a group."""

from collections.abc import Iterator, Sequence

import numpy as np

from carryover.tasks.analysis.alignment import Aligned
from carryover.tasks.analysis.arms import Arms, mean_pair
from carryover.tasks.analysis.contrasts import difference
from carryover.tasks.analysis.decisions import holm
from carryover.tasks.analysis.intervals import point_estimate
from carryover.tasks.analysis.rank_tests import SignedRank, mcnemar_exact, signed_rank
from carryover.tasks.analysis.resampling import MeanStatistic
from carryover.tasks.analysis.spec import Comparison
from carryover.tasks.analysis.statistic_rows import StatisticGroup, averaged_over_seeds
from carryover.tasks.traces.study_rows import StatisticRow


def rank_test_rows(
    group: StatisticGroup, arms: Arms, comparisons: Sequence[Comparison], metric: str
) -> Iterator[StatisticRow]:
    """Yield one signed-rank test per comparison; Holm's correction is over the comparisons of this group and metric."""
    aligned = [arms.align(metric, comparison.a, comparison.b) for comparison in comparisons]
    tests = [_test_pairs(pair) for pair in aligned]
    corrected = holm([test.p_value for test in tests])
    for comparison, pair, test, p_holm in zip(comparisons, aligned, tests, corrected, strict=True):
        means = mean_pair(pair)
        yield group.row(
            "wilcoxon",
            comparison.group,
            metric,
            comparison.a,
            comparison.b,
            mean_a=means[0],
            mean_b=means[1],
            estimate=point_estimate(pair, difference),
            p_holm=p_holm,
            **told_of_instances(test, pair, difference)._asdict(),
        )


def _test_pairs(aligned: Aligned) -> SignedRank:
    a, b = aligned.per_instance()
    return signed_rank(a - b)


def told_of_instances(test: SignedRank, aligned: Aligned, statistic: MeanStatistic) -> SignedRank:
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


def mcnemar_rows(
    group: StatisticGroup, arms: Arms, comparisons: Sequence[Comparison], metric: str
) -> Iterator[StatisticRow]:
    """Yield one exact test of a yes/no outcome per comparison, of the first replicate of each training seed.

    The other replicates repeat a comparison. Holm's correction is over the comparisons of this group and metric.
    """
    aligned = [arms.align(metric, comparison.a, comparison.b) for comparison in comparisons]
    firsts = [pair.first_draws() for pair in aligned]
    tests = [mcnemar_exact(*first.arms) for first in firsts]
    corrected = holm([test.p_value for test in tests])
    for comparison, pair, first, test, p_holm in zip(comparisons, aligned, firsts, tests, corrected, strict=True):
        a, b = (values[~np.isnan(first.arms[0])] for values in first.arms)
        yield group.row(
            "mcnemar",
            comparison.group,
            metric,
            comparison.a,
            comparison.b,
            pair_count=test.instance_count,
            nonzero_count=test.only_a_count + test.only_b_count,
            mean_a=float(a.mean()) if a.size else None,
            mean_b=float(b.mean()) if b.size else None,
            statistic=float(test.only_a_count),
            p_value=test.p_value,
            p_holm=p_holm,
            method=f"{test.method}, one value per instance: {_pair_of(first)}",
            note=_joined(test.note, _left_out(pair, first)),
        )


def _pair_of(first: Aligned) -> str:
    return f"the majority of its pairs over {first.seed_count} training seeds" if first.seed_count > 1 else "its pair"


def _left_out(aligned: Aligned, first: Aligned) -> str | None:
    count = len(aligned.training_seeds) - len(first.training_seeds)
    return f"first replicate of a seed only, {count} further left out" if count else None


def _joined(*notes: str | None) -> str | None:
    return "; ".join(note for note in notes if note) or None
