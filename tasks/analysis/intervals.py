"""Intervals of a statistic of means: bootstraps that keep pairs together, and a t interval over training seeds."""

import operator
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from carryover.tasks.analysis.alignment import Aligned, Values
from carryover.tasks.analysis.statistics_spec import StatisticsSpec
from carryover.tasks.traces.result_rows import OVER_SEEDS, IntervalKind

MeanStatistic = Callable[..., Any]
"""A function of the arms' means: arrays of one shape in, an array of that shape out."""

BOOTSTRAPS: tuple[IntervalKind, ...] = ("percentile", "BCa")

BATCH_VALUES = 4_000_000
"""Values that SciPy resamples at a time: 32 MB per arm."""

difference: MeanStatistic = operator.sub
ratio: MeanStatistic = operator.truediv


def itself(a: Any) -> Any:
    """Return the one arm's mean."""
    return a


def contrast(pp: Any, ps: Any, sp: Any, ss: Any) -> Any:
    """Return the train x runtime interaction, (P->P - P->S) - (S->P - S->S)."""
    return (pp - ps) - (sp - ss)


def ratio_of_ratios(pp: Any, ps: Any, sp: Any, ss: Any) -> Any:
    """Return the interaction as (P->P / P->S) / (S->P / S->S)."""
    return (pp / ps) / (sp / ss)


class Interval(NamedTuple):
    """An interval of a statistic of means; an end is None if it is undefined."""

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
        return f"below {null_value:g}" if self.high < null_value else f"includes {null_value:g}"


class Resamples(NamedTuple):
    """A statistic under every bootstrap resample; NaN or infinite where it is undefined."""

    bootstrapped: Any
    """Result of `scipy.stats.bootstrap`."""
    arguments: dict[str, Any]
    """The data, the statistic and the batch size that it was given."""
    drawn: str
    """Resampled unit, in words."""

    @property
    def statistics(self) -> Values:
        """One value per resample."""
        return self.bootstrapped.bootstrap_distribution

    def interval(self, kind: IntervalKind, confidence: float) -> tuple[float | None, float | None, str | None]:
        """Return both ends of an interval over the resamples that have a value, and a note about the others."""
        kept = self.statistics[np.isfinite(self.statistics)]
        if not kept.size:
            return None, None, "undefined in every resample"
        drawn = replace(self.bootstrapped, bootstrap_distribution=kept)
        settings = {"method": kind, "confidence_level": confidence, "n_resamples": 0, "bootstrap_result": drawn}
        found = _bootstrap(**self.arguments, **settings)
        low, high = map(_finite, found.confidence_interval)
        if low is None or high is None:  # BCa needs resamples on either side of the estimate, and a spread
            return low, high, "all resamples are equal" if np.ptp(kept) == 0 else "undefined for these values"
        undefined = self.statistics.size - kept.size
        note = f"{undefined} of {self.statistics.size} resamples are undefined and left out" if undefined else None
        return low, high, note


def all_intervals(aligned: Aligned, statistic: MeanStatistic, spec: StatisticsSpec) -> list[Interval]:
    """Return the bootstrap intervals and, where there are several training seeds, the t interval over them."""
    found = bootstrap_intervals(aligned, statistic, spec)
    return [*found, seed_interval(aligned, statistic, spec.confidence)] if aligned.seed_count > 1 else found


def bootstrap_intervals(aligned: Aligned, statistic: MeanStatistic, spec: StatisticsSpec) -> list[Interval]:
    """Return a percentile and a BCa interval of `statistic(*means of the arms)`, in this order.

    With one training seed, SciPy resamples instances; with several, seeds and instances as crossed factors, and the
    acceleration of BCa comes from leaving out each seed and each instance in turn. The point estimate is the statistic
    of the arms' means. `note` says why an interval is undefined.
    """
    estimate, count = point_estimate(aligned, statistic), aligned.instance_count

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
    resamples = resample(aligned, statistic, spec)
    found = []
    for kind in BOOTSTRAPS:
        low, high, note = resamples.interval(kind, spec.confidence)
        found.append(Interval(kind, estimate, low, high, count, f"bootstrap {kind}, {resamples.drawn}", note))
    return found


def seed_interval(aligned: Aligned, statistic: MeanStatistic, confidence: float) -> Interval:
    """Return the t interval of a statistic over one value per training seed; ratios are averaged on the log scale."""
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
    estimate, low, high = (float(end) for end in (np.exp(ends) if is_ratio else ends))
    note = "no spread: all training seeds give the same value" if np.ptp(scaled) == 0 else None
    return Interval(OVER_SEEDS, estimate, low, high, values.size, method, note)


def point_estimate(aligned: Aligned, statistic: MeanStatistic) -> float | None:
    """Return the statistic of the arms' means, or None if it is undefined."""
    if aligned.instance_count == 0:
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        return _finite(statistic(*(np.nanmean(values) for values in aligned.per_instance())))


def resample(aligned: Aligned, statistic: MeanStatistic, spec: StatisticsSpec) -> Resamples:
    """Resample the instances, at least two, and as a crossed factor the training seeds where there are several.

    SciPy draws indices of seeds and of instances, and leaves out each of them for the acceleration of BCa; all arms'
    values are taken at the same indices, so that pairs stay together. Replicates of a seed are averaged before, and
    means are over cells that have a value.
    """
    has_value = ~np.isnan(aligned.per_seed()[0])
    instances = has_value.any(axis=0)
    has_value = has_value[:, instances]
    arms = [np.where(has_value, arm[:, instances], 0) for arm in aligned.per_seed()]
    seed_count, instance_count = has_value.shape

    def statistic_at(*indices: NDArray[np.intp], axis: int) -> Any:
        assert axis == -1
        seeds, instances = indices if seed_count > 1 else (np.zeros(1, dtype=int), *indices)
        cells = seeds[..., :, np.newaxis], instances[..., np.newaxis, :]
        counts = has_value[cells].sum(axis=(-2, -1))
        return statistic(*(arm[cells].sum(axis=(-2, -1)) / counts for arm in arms))

    factors = (np.arange(seed_count), np.arange(instance_count))
    arguments: dict[str, Any] = {
        "data": factors if seed_count > 1 else factors[1:],
        "statistic": statistic_at,
        "vectorized": True,
        "batch": max(1, BATCH_VALUES // (seed_count * instance_count)),
    }
    rng = np.random.default_rng(spec.seed)
    bootstrapped = _bootstrap(**arguments, method="percentile", n_resamples=spec.resample_count, rng=rng)
    units = f"{seed_count} training seeds x " * (seed_count > 1) + f"{instance_count} instances"
    drawn = f"{spec.resample_count} resamples of {units}, scipy.stats.bootstrap, seed {spec.seed}"
    return Resamples(bootstrapped, arguments, drawn)


def _bootstrap(**arguments: Any) -> Any:
    with warnings.catch_warnings(), np.errstate(divide="ignore", invalid="ignore"):
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)  # its NaN becomes a note of the interval
        return stats.bootstrap(**arguments)


def _finite(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None
