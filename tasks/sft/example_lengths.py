"""Lengths of training examples where nothing but their range and mean is known."""

import math
from typing import NamedTuple

QUANTILES = 1000
"""The fewest quantiles that lengths are taken from, so that few examples keep the mean, too."""


class LengthRange(NamedTuple):
    """What is known of some examples, in tokens."""

    smallest: int
    mean: float
    largest: int


class ExpectedExamples(NamedTuple):
    """Examples that are not here yet, those held out for validation among them."""

    lengths: tuple[int, ...]
    """Tokens of each."""
    source: str
    """What the lengths are estimated from."""

    @property
    def mean_tokens(self) -> float:
        """Mean length."""
        return sum(self.lengths) / len(self.lengths)


def likely_lengths(known: LengthRange, count: int) -> tuple[int, ...]:
    """Return the lengths of `count` examples, shortest first, within the range and with its mean but for rounding.

    They are means of equal slices of the distribution that assumes nothing else (maximum entropy): an exponential one
    cut off at both ends. How well sequences are packed depends on it; examples of one length would mislead.
    """
    span = known.largest - known.smallest
    rate = _rate((known.mean - known.smallest) / span) if span else 0.0
    per_slice = math.ceil(QUANTILES / max(1, count))
    total = count * per_slice
    quantiles = [_quantile((number + 0.5) / total, rate) for number in range(total)]
    means = (sum(quantiles[start : start + per_slice]) / per_slice for start in range(0, total, per_slice))
    return tuple(round(known.smallest + span * mean) for mean in means)


def _quantile(share: float, rate: float) -> float:
    """Return the value in [0, 1] below which a share of a cut-off exponential distribution lies."""
    return -math.log1p(share * math.expm1(-rate)) / rate if rate else share


def _rate(mean: float) -> float:
    """Return the rate of the cut-off exponential distribution on [0, 1] with this mean; negative above one half."""
    low, high = -500.0, 500.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _mean(middle) > mean else (low, middle)
    return high


def _mean(rate: float) -> float:
    return 1 / rate - 1 / math.expm1(rate) if rate else 0.5
