"""What a comparison allows one to say: equivalence, smallest detectable difference, correction for several tests."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

from carryover.tasks.analysis.alignment import Values


class Equivalence(NamedTuple):
    """Result of two one-sided tests."""

    p_value: float | None
    """The larger of the two one-sided p-values."""
    low: float | None
    """Lower end of the 1 - 2 alpha interval of the mean difference."""
    high: float | None
    is_equivalent: bool | None
    method: str
    note: str | None


def two_one_sided_tests(differences: Values, *, margin: float, alpha: float) -> Equivalence:
    """Test whether the mean of paired differences lies within +- `margin` (same unit), by paired t-tests (TOST).

    Equal differences have no spread to test with: the mean itself then decides, without a p-value.
    """
    method = f"equivalence, two one-sided paired t-tests, margin {margin:g}, alpha {alpha:g}"
    if differences.size < 2:
        return Equivalence(None, None, None, None, method, f"no test: {differences.size} pairs, 2 are needed")
    mean, error = float(differences.mean()), float(stats.sem(differences))
    if np.ptp(differences) == 0:
        note = f"no p-value: all {differences.size} differences equal {mean:g}"
        return Equivalence(None, mean, mean, abs(mean) < margin, method, note)
    freedom = differences.size - 1
    above = float(stats.t.sf((mean + margin) / error, freedom))
    below = float(stats.t.cdf((mean - margin) / error, freedom))
    p_value, reach = max(above, below), float(stats.t.ppf(1 - alpha, freedom)) * error
    return Equivalence(p_value, mean - reach, mean + reach, p_value < alpha, method, None)


def two_one_sided_shares(resampled: Values, *, margin: float, alpha: float, drawn: str) -> Equivalence:
    """Test whether a mean difference lies within +- `margin` by its bootstrap resamples, for which no t is known.

    `drawn` says in words what was resampled; resamples without a value are left out, and the note counts them. The
    one-sided p-values are the shares of resamples at or beyond each end of the margin, the sample itself counted as
    one more resample (Davison and Hinkley 1997, section 4.2), so that no p-value is 0. They are below alpha where the
    1 - 2 alpha percentile interval lies within the margin. Resamples that are all equal have no spread to test with:
    their value then decides, without a p-value.
    """
    method = f"equivalence, bootstrap percentile, {drawn}, margin {margin:g}, alpha {alpha:g}"
    values = np.round(resampled[np.isfinite(resampled)], 9)
    if not values.size:
        return Equivalence(None, None, None, None, method, "no test: no resample has a value")
    low, high = (float(end) for end in np.percentile(values, [100 * alpha, 100 * (1 - alpha)]))
    if np.ptp(values) == 0:
        note = f"no p-value: the difference is {low:g} in every resample"
        return Equivalence(None, low, high, abs(low) < margin, method, note)
    beyond = max(int((values <= -margin).sum()), int((values >= margin).sum()))
    p_value = (1 + beyond) / (1 + values.size)
    dropped = resampled.size - values.size
    note = f"{dropped} of {resampled.size} resamples are undefined and left out" if dropped else None
    return Equivalence(p_value, low, high, p_value < alpha, method, note)


def smallest_detectable_difference(differences: Values, *, alpha: float, power: float) -> float | None:
    """Return the mean paired difference that this sample would have shown at `power`, by the normal approximation.

    (z(1 - alpha/2) + z(power)) times the standard deviation of the differences over the root of their number; None
    for fewer than two pairs, and for differences that are all equal: a sample without spread says nothing of it.
    """
    if differences.size < 2 or np.ptp(differences) == 0:
        return None
    quantiles = stats.norm.ppf(1 - alpha / 2) + stats.norm.ppf(power)
    return float(quantiles * differences.std(ddof=1) / np.sqrt(differences.size))


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return Holm's step-down p-values in the given order; tests that were not run (None) count for nothing."""
    ranked = sorted((p_value, index) for index, p_value in enumerate(p_values) if p_value is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p_value, index) in enumerate(ranked):
        largest = max(largest, min(1.0, (len(ranked) - rank) * p_value))
        adjusted[index] = largest
    return adjusted
