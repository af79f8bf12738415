"""A trace's runtime, inferred from its reads of earlier names."""

from math import comb
from typing import NamedTuple

FRESH_PROCESS = "fresh process per call"


class InferredRuntime(NamedTuple):
    """Lifetime of names, as the outcomes show it."""

    runtime: str | None
    """`persistent`, `stateless`, or `fresh process per call` by framework or command; null for unknown."""
    observed_count: int
    """Reads of earlier names whose outcome is known."""
    failed_count: int
    confidence: float | None
    """Probability that more than half, or less, of such reads fail: Beta-binomial with a uniform prior."""


def infer_runtime(observed: int, failed: int, *, is_fresh: bool) -> InferredRuntime:
    """Return the runtime that most observed reads agree with."""
    if is_fresh:
        return InferredRuntime(FRESH_PROCESS, observed, failed, 1.0)
    if not observed:
        return InferredRuntime(None, 0, 0, None)
    losing = _chance_of_more_than_half(failed, observed - failed)
    if losing >= 0.5:
        return InferredRuntime("stateless", observed, failed, losing)
    return InferredRuntime("persistent", observed, failed, 1 - losing)


def _chance_of_more_than_half(failed: int, kept: int) -> float:
    """Return the probability that a rate is above a half.

    It is given so many failures and successes.
    """
    total = failed + kept + 1
    return sum(comb(total, index) for index in range(failed + 1)) / 2**total
