"""Bootstrap resamples of a statistic of means: pairs stay together, instances and training seeds are drawn anew."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from carryover.tasks.analysis.alignment import Aligned, Values
from carryover.tasks.analysis.spec import StatisticsSpec
from carryover.tasks.traces.study_rows import IntervalKind

MeanStatistic = Callable[..., Any]
"""A function of the arms' means: arrays of one shape in, an array of that shape out."""

BATCH_VALUES = 4_000_000
"""Values that SciPy resamples at a time: 32 MB per arm."""


class Resamples(NamedTuple):
    """A statistic under every resample; NaN or infinite where it is undefined."""

    bootstrapped: Any
    """What `scipy.stats.bootstrap` returned."""
    arguments: dict[str, Any]
    """The data, the statistic and the size of a batch that it was given."""
    drawn: str
    """What was resampled, in words."""

    @property
    def statistics(self) -> Values:
        """One value per resample."""
        return self.bootstrapped.bootstrap_distribution

    @property
    def note(self) -> str | None:
        """How many resamples have no value, None where all have one."""
        undefined = int((~np.isfinite(self.statistics)).sum())
        return f"{undefined} of {self.statistics.size} resamples are undefined and left out" if undefined else None

    def interval(self, kind: IntervalKind, confidence: float) -> tuple[float, float]:
        """Return the ends of an interval of the resamples that have a value; NaN where it does not exist."""
        kept = self.statistics[np.isfinite(self.statistics)]
        if not kept.size:
            return np.nan, np.nan
        drawn = replace(self.bootstrapped, bootstrap_distribution=kept)
        found = _bootstrap(
            **self.arguments, method=kind, confidence_level=confidence, n_resamples=0, bootstrap_result=drawn
        )
        return tuple(found.confidence_interval)


def resample(aligned: Aligned, statistic: MeanStatistic, spec: StatisticsSpec) -> Resamples:
    """Resample the instances, at least two, and as a crossed factor the training seeds where there are several.

    SciPy draws numbers of seeds and of instances, and leaves out each of them for the acceleration of BCa; all arms'
    values are taken at the same numbers, so that what is paired stays so. Replicates of a seed are averaged before.
    """
    statistic_at, (seed_count, instance_count) = _statistic_at(aligned, statistic)
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


def _statistic_at(aligned: Aligned, statistic: MeanStatistic) -> tuple[Callable[..., Any], tuple[int, ...]]:
    """Return a function of numbers of seeds (where there are several) and of instances, and how many of both there are.

    It takes arrays of numbers along their last axis, as SciPy asks for. Means are over cells that have a value.
    """
    has_value = ~np.isnan(aligned.per_seed()[0])
    instances = has_value.any(axis=0)
    has_value = has_value[:, instances]
    arms = [np.where(has_value, arm[:, instances], 0) for arm in aligned.per_seed()]

    def statistic_at(*numbers: NDArray[np.intp], axis: int) -> Any:
        assert axis == -1
        seeds, instances = numbers if len(arms[0]) > 1 else (np.zeros(1, dtype=int), *numbers)
        cells = seeds[..., :, np.newaxis], instances[..., np.newaxis, :]
        counts = has_value[cells].sum(axis=(-2, -1))
        return statistic(*(arm[cells].sum(axis=(-2, -1)) / counts for arm in arms))

    return statistic_at, has_value.shape


def _bootstrap(**arguments: Any) -> Any:
    with warnings.catch_warnings(), np.errstate(divide="ignore", invalid="ignore"):
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)  # its NaN becomes a note of the interval
        return stats.bootstrap(**arguments)
