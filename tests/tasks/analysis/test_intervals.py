import numpy as np
import polars as pl
import pytest
from scipy import stats

from carryover.tasks.analysis import resampling
from carryover.tasks.analysis.alignment import Aligned, Arms
from carryover.tasks.analysis.intervals import bootstrap_intervals, seed_interval
from carryover.tasks.analysis.intervals import ratio as ratio_of_means
from carryover.tasks.analysis.resampling import GroupMeans
from carryover.tasks.analysis.statistics_spec import METRICS, PP, StatisticsSpec

SPEC = StatisticsSpec(resample_count=4_000)


def aligned(*arms, seeds=(0,)):
    values = [np.atleast_2d(np.array(arm, dtype=float)) for arm in arms]
    return Aligned(tuple((seed, row) for row, seed in enumerate(seeds)), tuple(values))


def mean(a):
    return a


def ratio(a, b):
    return a / b


def test_by_default_5000_resamples_and_a_margin_of_5_points():
    assert (StatisticsSpec().resample_count, StatisticsSpec().equivalence_margin) == (5_000, 0.05)


def test_two_instances_give_the_binomial_interval():
    # resampled means of (0, 1) are 0, 0.5 and 1 with chances 1/4, 1/2, 1/4
    wide, _ = bootstrap_intervals(aligned([0, 1]), mean, SPEC)
    narrow, _ = bootstrap_intervals(aligned([0, 1]), mean, SPEC.model_copy(update={"confidence": 0.4}))
    assert (wide.estimate, wide.low, wide.high) == (0.5, 0.0, 1.0)
    assert (narrow.low, narrow.high) == (0.5, 0.5)


def test_both_kinds_come_in_order_with_their_method():
    percentile, accelerated = bootstrap_intervals(aligned([1, 2, 4, 8, 16]), mean, SPEC)
    assert percentile.method == "bootstrap percentile, 4000 resamples of 5 instances, seed 0"
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
    assert (accelerated.low, accelerated.high, accelerated.note) == (0.0, 1.0, None)


@pytest.mark.parametrize("values", [[[0, 0], [0, 0], [3, 3]], [[0, 0, 3], [0, 0, 3]]], ids=["seeds", "instances"])
def test_bca_over_seeds_and_instances_leaves_out_each_of_both(values):
    # Resampled means are 0, 1, 2 and 3 with the chances of a binomial of 3 draws at 1/3, summed up 0.296, 0.741, 0.963
    # and 1. Half of the ties counted, 14/27 of them lie below the mean: a bias of z0 = 0.046. Leaving out one of three
    # gives 1.5, 1.5 and 0, of two equal ones nothing: an acceleration of a = 0.068. At 89 %, the upper end 0.945 (z =
    # 1.598) moves to 0.955 by the bias, and to 0.971 by both, which is where the 3 begins.
    percentile, accelerated = bootstrap_intervals(
        aligned(values, seeds=range(len(values))), mean, StatisticsSpec(resample_count=20_000, confidence=0.89)
    )
    assert (percentile.low, percentile.high) == (0.0, 2.0)
    assert (accelerated.low, accelerated.high, accelerated.note) == (0.0, 3.0, None)
    assert accelerated.method.startswith(f"bootstrap BCa, 20000 resamples of {len(values)} training seeds x ")
    assert accelerated.method.endswith("instances, seed 0")


def test_without_variation_bca_says_why_there_is_none():
    percentile, accelerated = bootstrap_intervals(aligned([[2, 2], [2, 2]], seeds=(0, 1)), mean, SPEC)
    assert (percentile.low, percentile.high) == (2.0, 2.0)
    assert (accelerated.low, accelerated.note) == (None, "no variation between training seeds and instances")


@pytest.mark.parametrize(("seeds", "rows"), [((0,), [[1, 2, 3]]), ((0, 1), [[1, 2, 3], [4, 5, 6]])])
def test_arms_equal_everywhere_have_no_bca_and_a_note(seeds, rows):
    percentile, accelerated = bootstrap_intervals(aligned(rows, rows, seeds=seeds), ratio, SPEC)
    assert (percentile.low, percentile.high, percentile.note) == (1.0, 1.0, None)
    assert (accelerated.low, accelerated.note) == (None, "all resamples are equal")


def test_metrics_of_the_same_cells_are_resampled_together(monkeypatch):
    passes = []

    def resampled_means(cells, spec):
        passes.append(cells)
        return resample(cells, spec)

    resample = resampling.resampled_means
    monkeypatch.setattr(resampling, "resampled_means", resampled_means)
    draws = {"training_seed": 0, "replicate": 0, "train_contract": "persistent", "runtime_contract": "persistent"}
    rows = [draws | {"instance_id": str(number), **dict.fromkeys(METRICS["mean"], number)} for number in range(4)]
    arms = Arms(pl.DataFrame(rows))
    sample = GroupMeans(arms, StatisticsSpec(resample_count=50))
    score, tokens = (sample.of(metric, [PP], arms.align(metric, PP)) for metric in ("score", "total_tokens"))
    np.testing.assert_array_equal(score, tokens)
    assert len(passes) == 1


def test_batches_bound_the_memory_and_leave_out_no_resample(monkeypatch):
    monkeypatch.setattr(resampling, "BATCH_VALUES", 7)
    percentile, _ = bootstrap_intervals(aligned([[0, 0], [1, 1]], seeds=(0, 1)), mean, SPEC)
    assert (percentile.low, percentile.high) == (0.0, 1.0)


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


def test_the_t_interval_over_seeds_has_one_value_per_seed():
    interval = seed_interval(aligned([[0, 2], [1, 3], [2, 4]], seeds=(1, 2, 3)), mean, 0.95)
    # means 1, 2, 3: standard error 1 / sqrt(3), and Student's t with 2 degrees is 4.302653 at 97.5 %
    assert (interval.estimate, interval.pair_count) == (2.0, 3)
    assert (interval.low, interval.high) == (pytest.approx(2 - 4.302653 / 3**0.5), pytest.approx(2 + 4.302653 / 3**0.5))


def test_t_interval_of_a_ratio_is_symmetric_on_log_scale():
    pairs = aligned([[2, 2], [8, 8]], [[1, 1], [1, 1]], seeds=(1, 2))
    interval = seed_interval(pairs, ratio_of_means, 0.95)
    assert interval.estimate == pytest.approx(4)
    assert interval.low is not None
    assert interval.high is not None
    assert interval.low * interval.high == pytest.approx(16)


def test_a_seed_without_a_ratio_leaves_no_t_interval():
    interval = seed_interval(aligned([[2, 2], [8, 8]], [[0, 0], [1, 1]], seeds=(1, 2)), ratio_of_means, 0.95)
    assert (interval.low, interval.note) == (None, "no interval: 1 of 2 training seeds have a value")


@pytest.mark.parametrize("statistic", [mean, ratio], ids=["mean", "ratio"])
def test_intervals_are_those_of_scipy(statistic):
    random = np.random.default_rng(3)
    arms = [random.exponential(size=40) + 1 for _ in range(2 if statistic is ratio else 1)]
    for interval in bootstrap_intervals(aligned(*arms), statistic, SPEC):
        theirs = stats.bootstrap(
            arms,
            lambda *samples, axis: statistic(*(sample.mean(axis=axis) for sample in samples)),
            paired=True,
            vectorized=True,
            n_resamples=SPEC.resample_count,
            method=interval.interval_kind,
            rng=np.random.default_rng(SPEC.seed),
        ).confidence_interval
        assert (interval.low, interval.high) == (pytest.approx(theirs.low), pytest.approx(theirs.high))


@pytest.mark.parametrize(
    ("low", "high", "side"),
    [(0.1, 0.4, "above 0"), (-0.4, -0.1, "below 0"), (-0.1, 0.1, "includes 0"), (0.0, 0.4, "includes 0"),
     (None, 0.4, None), (0.1, None, None)],
)  # fmt: skip
def test_an_interval_lies_on_a_side_of_no_effect(low, high, side):
    plain = seed_interval(aligned([[0.1], [0.2]], seeds=(0, 1)), mean, 0.95)
    assert plain._replace(low=low, high=high).side(0.0) == side
