"""Intervals of statistics of means: paired bootstraps and t intervals."""

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from carryover.tasks.analysis.alignment import Aligned, Values
from carryover.tasks.analysis.resampling import cells_of, resampled_means
from carryover.tasks.analysis.statistics_spec import StatisticsSpec
from carryover.tasks.traces.result_rows import OVER_SEEDS, IntervalKind

MeanStatistic = Callable[..., Any]
"""A function of the arms' means: arrays of one shape in, an array of that shape out."""

ResampledMeans = Callable[[], Values]
"""Returns the arms' means under every resample, by (arm, resample)."""

BOOTSTRAPS: tuple[IntervalKind, ...] = ("percentile", "BCa")

difference: MeanStatistic = operator.sub
ratio: MeanStatistic = operator.truediv


def itself(a: Any) -> Any:
    """Return the one arm's mean."""
    return a


def contrast(pp: Any, ps: Any, sp: Any, ss: Any) -> Any:
    """Return the interaction (P->P - P->S) - (S->P - S->S)."""
    return (pp - ps) - (sp - ss)


def ratio_of_ratios(pp: Any, ps: Any, sp: Any, ss: Any) -> Any:
    """Return the interaction as (P->P / P->S) / (S->P / S->S)."""
    return (pp / ps) / (sp / ss)


class Interval(NamedTuple):
    """An interval of a statistic; an undefined end is None."""

    interval_kind: IntervalKind
    estimate: float | None
    low: float | None
    high: float | None
    pair_count: int
    """Instances, or training seeds for an interval over seeds."""
    method: str
    note: str | None

    def side(self, null_value: float) -> str | None:
        """Say on which side of no effect the interval lies."""
        if self.low is None or self.high is None:
            return None
        if self.low > null_value:
            return f"above {null_value:g}"
        if self.high < null_value:
            return f"below {null_value:g}"
        return f"includes {null_value:g}"


class Resamples(NamedTuple):
    """A statistic under every resample; NaN or infinite where undefined."""

    statistics: Values
    """One value per resample."""
    estimate: float
    """The statistic of the sample itself."""
    left_out: tuple[Values, ...]
    """The statistic without each unit in turn: without each training seed, where there are several, and instance."""
    drawn: str
    """Resampled unit, in words."""

    def interval(self, kind: IntervalKind, confidence: float) -> tuple[float | None, float | None, str | None]:
        """Return an interval's ends and a note on undefined resamples."""
        kept = self.statistics[np.isfinite(self.statistics)]
        if not kept.size:
            return None, None, "undefined in every resample"
        shares = np.array([(1 - confidence) / 2, (1 + confidence) / 2])
        if kind == "BCa":
            shares = self._accelerated(kept, shares)
        if not np.isfinite(shares).all():  # BCa needs resamples on either side of the estimate, and a spread
            return None, None, "all resamples are equal" if np.ptp(kept) == 0 else "undefined for these values"
        low, high = np.quantile(kept, shares)
        undefined = self.statistics.size - kept.size
        note = None
        if undefined:
            note = f"{undefined} of {self.statistics.size} resamples are undefined and left out"
        return float(low), float(high), note

    def _accelerated(self, kept: Values, shares: Values) -> Values:
        """Return BCa's shares, moved by bias and acceleration.

        With several training seeds, the acceleration sums over both factors, as that of a statistic of two samples.
        """
        below = ((kept < self.estimate).sum() + (kept <= self.estimate).sum()) / (2 * kept.size)
        bias = stats.norm.ppf(below)
        cubes = 0.0
        squares = 0.0
        with np.errstate(divide="ignore", invalid="ignore"):  # an undefined acceleration is NaN, and so are the shares
            for values in self.left_out:
                pulls = (values.size - 1) * (values.mean() - values)
                cubes += (pulls**3).sum() / values.size**3
                squares += (pulls**2).sum() / values.size**2
            acceleration = cubes / (6 * np.power(squares, 1.5))
            moved = bias + stats.norm.ppf(shares)
            return stats.norm.cdf(bias + moved / (1 - acceleration * moved))


def all_intervals(
    aligned: Aligned, statistic: MeanStatistic, spec: StatisticsSpec, resampled: ResampledMeans | None = None
) -> list[Interval]:
    """Return the bootstrap intervals, and the t interval over training seeds.

    `resampled` returns the arms' means under every resample; without it they are drawn for these arms alone.
    """
    found = bootstrap_intervals(aligned, statistic, spec, resampled)
    if aligned.seed_count > 1:
        return [*found, seed_interval(aligned, statistic, spec.confidence)]
    return found


def bootstrap_intervals(
    aligned: Aligned, statistic: MeanStatistic, spec: StatisticsSpec, resampled: ResampledMeans | None = None
) -> list[Interval]:
    """Return a percentile and a BCa interval of `statistic(*means)`.

    With one training seed, instances are resampled; with several, seeds and instances as crossed factors, and the
    acceleration of BCa comes from leaving out each seed and each instance in turn. The point estimate is the statistic
    of the arms' means. `note` says why an interval is undefined.
    """
    estimate = point_estimate(aligned, statistic)
    count = aligned.instance_count

    def undefined(note: str) -> list[Interval]:
        return [Interval(kind, estimate, None, None, count, f"bootstrap {kind}, not run", note) for kind in BOOTSTRAPS]

    if count < 2:
        return undefined(f"no interval: {count} instances, 2 are needed")
    if estimate is None:
        return undefined("undefined: a mean in the denominator is 0")
    if all(np.nanmin(values) == np.nanmax(values) for values in aligned.per_seed()):
        units = "training seeds and instances" if aligned.seed_count > 1 else "instances"
        percentile, accelerated = undefined(f"no variation between {units}")
        return [percentile._replace(low=estimate, high=estimate), accelerated]
    resamples = resample(aligned, statistic, spec, resampled)
    found = []
    for kind in BOOTSTRAPS:
        low, high, note = resamples.interval(kind, spec.confidence)
        found.append(Interval(kind, estimate, low, high, count, f"bootstrap {kind}, {resamples.drawn}", note))
    return found


def seed_interval(aligned: Aligned, statistic: MeanStatistic, confidence: float) -> Interval:
    """Return the t interval over one value per training seed.

    Ratios are averaged on the log scale.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.asarray(statistic(*np.reshape(aligned.seed_means(), (-1, len(aligned.arms))).T))
        is_ratio = statistic in (ratio, ratio_of_ratios)
        scaled = np.log(values) if is_ratio else values
    method = "t over training seeds, one value per seed" + (", log scale" if is_ratio else "")
    if values.size < 2 or not np.isfinite(scaled).all():
        note = f"no interval: {int(np.isfinite(scaled).sum())} of {values.size} training seeds have a value"
        return Interval(OVER_SEEDS, None, None, None, values.size, method, note)
    middle = float(scaled.mean())
    reach = float(stats.t.ppf((1 + confidence) / 2, values.size - 1) * stats.sem(scaled))
    ends = np.array([middle, middle - reach, middle + reach])
    if is_ratio:
        ends = np.exp(ends)
    estimate, low, high = ends.tolist()
    note = "no spread: all training seeds give the same value" if np.ptp(scaled) == 0 else None
    return Interval(OVER_SEEDS, estimate, low, high, values.size, method, note)


def point_estimate(aligned: Aligned, statistic: MeanStatistic) -> float | None:
    """Return the statistic of the arms' means; None if undefined."""
    if aligned.instance_count == 0:
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        return _finite(statistic(*(np.nanmean(values) for values in aligned.per_instance())))


def resample(
    aligned: Aligned, statistic: MeanStatistic, spec: StatisticsSpec, resampled: ResampledMeans | None = None
) -> Resamples:
    """Resample instances and, as a crossed factor, training seeds.

    All arms' values are taken at the same draws, so that pairs stay together. Replicates of a seed are averaged before,
    and means are over cells that have a value.
    """
    cells = cells_of(aligned)
    seed_count, instance_count = cells.has_value.shape
    means_of_resamples = resampled_means(cells, spec) if resampled is None else resampled()
    units = f"{instance_count} instances"
    with np.errstate(divide="ignore", invalid="ignore"):
        left_out = [statistic(*cells.means_without_each_instance())]
        if seed_count > 1:
            units = f"{seed_count} training seeds x {units}"
            left_out.append(statistic(*cells.means_without_each_seed()))
        return Resamples(
            statistics=statistic(*means_of_resamples),
            estimate=float(statistic(*cells.means())),
            left_out=tuple(left_out),
            drawn=f"{spec.resample_count} resamples of {units}, seed {spec.seed}",
        )


def _finite(value: Any) -> float | None:
    if np.isfinite(value):
        return float(value)
    return None
