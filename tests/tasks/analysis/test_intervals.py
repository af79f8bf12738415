import numpy as np
import pytest

from tasks.analysis.alignment import Aligned
from tasks.analysis.intervals import bootstrap_intervals
from tasks.analysis.spec import StatisticsSpec

SPEC = StatisticsSpec(resample_count=4_000)


def aligned(*arms, seeds=(0,)):
    values = [np.atleast_2d(np.array(arm, dtype=float)) for arm in arms]
    return Aligned(tuple(seeds), tuple(f"i{index}" for index in range(values[0].shape[1])), tuple(values))


def mean(a):
    return a


def ratio(a, b):
    return a / b


def test_by_default_5000_resamples_and_a_margin_of_5_points():
    assert (StatisticsSpec().resample_count, StatisticsSpec().equivalence_margin) == (5_000, 0.05)


def test_two_instances_give_the_binomial_interval():
    # resampled means of (0, 1) are 0, 0.5 and 1 with chances 1/4, 1/2, 1/4
    wide, _ = bootstrap_intervals(aligned([0, 1]), mean, SPEC)
    narrow, _ = bootstrap_intervals(aligned([0, 1]), mean, SPEC, confidence=0.4)
    assert (wide.estimate, wide.low, wide.high) == (0.5, 0.0, 1.0)
    assert (narrow.low, narrow.high) == (0.5, 0.5)


def test_both_kinds_come_in_order_with_their_method():
    percentile, accelerated = bootstrap_intervals(aligned([1, 2, 4, 8, 16]), mean, SPEC)
    assert percentile.method == ("bootstrap percentile, 4000 resamples of 5 instances, scipy.stats.bootstrap, seed 0")
    assert (percentile.interval_kind, accelerated.interval_kind) == ("percentile", "BCa")
    assert accelerated.low is not None
    assert percentile.low is not None
    assert accelerated.low > percentile.low  # the sample is skewed to the right


def test_pairs_stay_together():
    percentile, _ = bootstrap_intervals(aligned([2, 6, 8], [1, 3, 4]), ratio, SPEC)
    assert (percentile.estimate, percentile.low, percentile.high) == (2.0, 2.0, 2.0)


def test_seeds_are_resampled_too():
    # no instance differs from another: all the spread is between the two seeds
    percentile, accelerated = bootstrap_intervals(aligned([[0, 0], [1, 1]], seeds=(0, 1)), mean, SPEC)
    assert (percentile.estimate, percentile.low, percentile.high) == (0.5, 0.0, 1.0)
    assert "2 training seeds x 2 instances" in percentile.method
    assert accelerated.note == "no BCa interval: leaving out one of 2 training seeds gives no acceleration"


def test_replicates_of_a_seed_are_averaged_and_not_resampled():
    percentile, _ = bootstrap_intervals(aligned([[0, 0, 0], [1, 1, 1]], seeds=(7, 7)), mean, SPEC)
    assert (percentile.low, percentile.high, percentile.note) == (0.5, 0.5, "no variation between instances")


def test_missing_cells_weigh_nothing():
    values = [[1, np.nan], [1, 1]]
    percentile, _ = bootstrap_intervals(aligned(values, seeds=(0, 1)), mean, SPEC)
    assert (percentile.estimate, percentile.low, percentile.high) == (1.0, 1.0, 1.0)


def test_resamples_without_a_value_are_counted_in_the_note():
    # the denominator is 0 where both draws take the instance (or the seed) that has none: the note counts those
    arms = ([[2, 2], [2, 2]], [[0, 1], [0, 1]])
    percentile, _ = bootstrap_intervals(aligned(*arms, seeds=(0, 1)), ratio, SPEC)
    assert (percentile.low, percentile.high) == (2.0, 4.0)
    assert percentile.note is not None
    count, rest = percentile.note.split(" ", 1)
    assert rest == "of 4000 resamples are undefined and left out"
    # both instance draws are the first one with chance 1/4; 4 standard deviations of the binomial are 110
    assert abs(int(count) - 1000) < 110


@pytest.mark.parametrize(
    ("arms", "note"),
    [
        (([1.0], [1.0]), "no interval: 1 instances, 2 are needed"),
        (([1.0, 2.0], [0.0, 0.0]), "undefined: a mean in the denominator is 0"),
        (([[]], [[]]), "no interval: 0 instances, 2 are needed"),
    ],
)
def test_where_there_is_no_interval_both_kinds_say_why(arms, note):
    intervals = bootstrap_intervals(aligned(*arms), ratio, SPEC)
    assert [(interval.low, interval.high, interval.note) for interval in intervals] == [(None, None, note)] * 2


def test_the_same_values_give_the_same_interval():
    first = bootstrap_intervals(aligned([1, 5, 9, 2]), mean, SPEC)
    assert bootstrap_intervals(aligned([1, 5, 9, 2]), mean, SPEC) == first
