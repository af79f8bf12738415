"""Bootstrap intervals that keep pairs together and resample instances and, where there are several, training seeds."""

import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tasks.analysis.alignment import Aligned, Values
from tasks.analysis.spec import StatisticsSpec
from tasks.traces.study_rows import IntervalKind

MeanStatistic = Callable[..., Any]
"""A function of the arms' means: arrays of one shape in, an array of that shape out."""

BATCH_VALUES = 4_000_000
"""Values that SciPy resamples at a time: 32 MB per arm."""


class Interval(NamedTuple):
    """An interval of a statistic of means; its ends are None where it does not exist."""

    interval_kind: IntervalKind
    estimate: float | None
    low: float | None
    high: float | None
    method: str
    note: str | None


def bootstrap_intervals(
    aligned: Aligned, statistic: MeanStatistic, spec: StatisticsSpec, *, confidence: float | None = None
) -> list[Interval]:
    """Return a percentile and a BCa interval of `statistic(*means of the arms)`, in this order.

    With one training seed, SciPy resamples instances. With several, seeds and instances are resampled as crossed
    factors by vectorised NumPy, for which SciPy has nothing. There is no BCa interval then: its acceleration comes from
    leaving out one unit at a time, and three training seeds left out one by one say nothing about a skewness. Where
    there is no interval, its ends are None and `note` says why. The point estimate is the statistic of the arms' means.
    """
    level = spec.confidence if confidence is None else confidence
    estimate = point_estimate(aligned, statistic)
    if aligned.instance_count < 2:
        return _no_intervals(estimate, f"no interval: {aligned.instance_count} instances, 2 are needed")
    if aligned.seed_count > 1:
        why = f"no BCa interval: leaving out one of {aligned.seed_count} training seeds gives no acceleration"
        _, accelerated = _no_intervals(estimate, why)
        return [_crossed(aligned, statistic, spec, level, estimate), accelerated]
    return _resampled_instances(aligned, statistic, spec, level, estimate)


def point_estimate(aligned: Aligned, statistic: MeanStatistic) -> float | None:
    """Return the statistic of the arms' means, or None where it is undefined."""
    if aligned.instance_count == 0:
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        return _finite(statistic(*(np.nanmean(values) for values in aligned.per_instance())))


def _resampled_instances(
    aligned: Aligned, statistic: MeanStatistic, spec: StatisticsSpec, level: float, estimate: float | None
) -> list[Interval]:
    arms = aligned.per_instance()
    method = f"{spec.resample_count} resamples of {arms[0].size} instances, scipy.stats.bootstrap, seed {spec.seed}"
    if estimate is None:
        return _no_intervals(None, "undefined: a mean in the denominator is 0")
    if all(np.ptp(values) == 0 for values in arms):
        percentile, accelerated = _no_intervals(estimate, "no variation between instances")
        return [percentile._replace(low=estimate, high=estimate), accelerated]

    def of_resamples(*samples: Values, axis: int = -1) -> Any:
        return statistic(*(sample.mean(axis=axis) for sample in samples))

    with warnings.catch_warnings(), np.errstate(divide="ignore", invalid="ignore"):
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)  # its NaN becomes a note below
        arguments: dict[str, Any] = {"paired": True, "vectorized": True, "confidence_level": level}
        percentile = stats.bootstrap(
            arms,
            of_resamples,
            n_resamples=spec.resample_count,
            batch=max(1, BATCH_VALUES // arms[0].size),
            method="percentile",
            rng=np.random.default_rng(spec.seed),
            **arguments,
        )
        accelerated = stats.bootstrap(
            arms, of_resamples, n_resamples=0, method="BCa", bootstrap_result=percentile, **arguments
        )
    return [
        _interval("percentile", estimate, percentile.confidence_interval, method),
        _interval("BCa", estimate, accelerated.confidence_interval, method),
    ]


def _no_intervals(estimate: float | None, note: str) -> list[Interval]:
    kinds: tuple[IntervalKind, ...] = ("percentile", "BCa")
    return [Interval(kind, estimate, None, None, f"bootstrap {kind}, not run", note) for kind in kinds]


def crossed_resamples(aligned: Aligned, spec: StatisticsSpec) -> str:
    """Return in words what `resampled_statistics` draws."""
    seed_count, instance_count = aligned.per_seed()[0].shape
    drawn = f"{seed_count} training seeds x {instance_count} instances"
    return f"{spec.resample_count} resamples of {drawn}, NumPy, seed {spec.seed}"


def resampled_statistics(aligned: Aligned, statistic: MeanStatistic, spec: StatisticsSpec) -> Values:
    """Return the statistic under every resample of training seeds and instances; one may be undefined."""
    arms = aligned.per_seed()
    seed_count, instance_count = arms[0].shape
    seed_weights = _resample_weights(seed_count, spec.resample_count, stream=(spec.seed, 0))
    instance_weights = _resample_weights(instance_count, spec.resample_count, stream=(spec.seed, 1))
    is_present = (~np.isnan(arms[0])).astype(float)
    weight_sums = np.einsum("bi,bi->b", seed_weights @ is_present, instance_weights)
    with np.errstate(divide="ignore", invalid="ignore"):
        means = [
            np.einsum("bi,bi->b", seed_weights @ np.nan_to_num(arm), instance_weights) / weight_sums for arm in arms
        ]
        return np.asarray(statistic(*means))


def _crossed(
    aligned: Aligned, statistic: MeanStatistic, spec: StatisticsSpec, level: float, estimate: float | None
) -> Interval:
    resampled = resampled_statistics(aligned, statistic, spec)
    tail = 100 * (1 - level) / 2
    kept = resampled[np.isfinite(resampled)]
    ends = np.percentile(kept, [tail, 100 - tail]) if kept.size else (np.nan,) * 2
    interval = _interval("percentile", estimate, ends, crossed_resamples(aligned, spec))
    dropped = resampled.size - kept.size
    if interval.note or not dropped:
        return interval
    return interval._replace(note=f"{dropped} of {resampled.size} resamples are undefined and left out")


@lru_cache(maxsize=8)
def _resample_weights(size: int, resample_count: int, *, stream: tuple[int, int]) -> NDArray[np.float64]:
    """Return how often each of `size` units is drawn, one row per resample; read only, since all metrics share it."""
    weights = (
        np.random.default_rng(stream).multinomial(size, np.full(size, 1 / size), size=resample_count).astype(float)
    )
    weights.flags.writeable = False
    return weights


def _interval(kind: IntervalKind, estimate: float | None, ends: Any, method: str) -> Interval:
    low, high = (_finite(end) for end in ends)
    note = None if low is not None and high is not None else "undefined for these values"
    return Interval(kind, estimate, low, high, f"bootstrap {kind}, {method}", note)


def _finite(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None
