"""Bootstrap intervals that keep pairs together and resample instances and, where there are several, training seeds."""

from typing import Any, NamedTuple

import numpy as np

from carryover.tasks.analysis.alignment import Aligned, Values
from carryover.tasks.analysis.resampling import MeanStatistic, Resamples, resample
from carryover.tasks.analysis.spec import StatisticsSpec
from carryover.tasks.traces.study_rows import IntervalKind

INTERVAL_KINDS: tuple[IntervalKind, ...] = ("percentile", "BCa")


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

    With one training seed, SciPy resamples instances; with several, seeds and instances as crossed factors, and the
    acceleration of BCa comes from leaving out each seed and each instance in turn. Where there is no interval, its ends
    are None and `note` says why. The point estimate is the statistic of the arms' means.
    """
    estimate = point_estimate(aligned, statistic)
    if aligned.instance_count < 2:
        return _no_intervals(estimate, f"no interval: {aligned.instance_count} instances, 2 are needed")
    if estimate is None:
        return _no_intervals(None, "undefined: a mean in the denominator is 0")
    if all(np.nanmin(values) == np.nanmax(values) for values in aligned.per_seed()):
        units = "training seeds and instances" if aligned.seed_count > 1 else "instances"
        percentile, accelerated = _no_intervals(estimate, f"no variation between {units}")
        return [percentile._replace(low=estimate, high=estimate), accelerated]
    resamples, level = resample(aligned, statistic, spec), spec.confidence if confidence is None else confidence
    return [_interval(kind, estimate, resamples, level) for kind in INTERVAL_KINDS]


def point_estimate(aligned: Aligned, statistic: MeanStatistic) -> float | None:
    """Return the statistic of the arms' means, or None where it is undefined."""
    if aligned.instance_count == 0:
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        return _finite(statistic(*(np.nanmean(values) for values in aligned.per_instance())))


def _no_intervals(estimate: float | None, note: str) -> list[Interval]:
    return [Interval(kind, estimate, None, None, f"bootstrap {kind}, not run", note) for kind in INTERVAL_KINDS]


def _interval(kind: IntervalKind, estimate: float, resamples: Resamples, confidence: float) -> Interval:
    low, high = (_finite(end) for end in resamples.interval(kind, confidence))
    note = _why_none(resamples.statistics) if low is None or high is None else resamples.note
    return Interval(kind, estimate, low, high, f"bootstrap {kind}, {resamples.drawn}", note)


def _why_none(resampled: Values) -> str:
    """Say why there is no interval of resamples: BCa needs some on either side of the estimate, and a spread."""
    kept = resampled[np.isfinite(resampled)]
    if not kept.size:
        return "undefined in every resample"
    return "all resamples are equal" if np.ptp(kept) == 0 else "undefined for these values"


def _finite(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None
