"""Bootstrap resamples of means, as matrix products.

Every metric of a group is resampled under the same draws.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from carryover.tasks.analysis.alignment import Aligned, Arms, Values
from carryover.tasks.analysis.statistics_spec import ComparedArm, StatisticsSpec

BATCH_VALUES = 4_000_000
"""Weights of instances in memory at a time: 32 MB."""


class Cells(NamedTuple):
    """Values of several arms by seed and instance, on shared cells."""

    arms: Values
    """By (arm, training seed, instance); 0 where there is no value."""
    has_value: NDArray[np.bool_]
    """By (training seed, instance)."""

    def means(self) -> Values:
        """Return each arm's mean over the cells that have a value."""
        return self.arms.sum(axis=(1, 2)) / self.has_value.sum()

    def means_without_each_seed(self) -> Values:
        """Return each arm's mean without each training seed: (arm, seed)."""
        return self._means_of_rest(self.arms.sum(axis=2), self.has_value.sum(axis=1))

    def means_without_each_instance(self) -> Values:
        """Return each arm's mean without each instance in turn, by (arm, instance)."""
        return self._means_of_rest(self.arms.sum(axis=1), self.has_value.sum(axis=0))

    def _means_of_rest(self, sums: Values, counts: NDArray[np.int_]) -> Values:
        totals = self.arms.sum(axis=(1, 2))[:, np.newaxis]
        with np.errstate(divide="ignore", invalid="ignore"):
            return (totals - sums) / (self.has_value.sum() - counts)


def cells_of(aligned: Aligned) -> Cells:
    """Return aligned arms' cells, replicates averaged, empty instances left out."""
    per_seed = aligned.per_seed()
    has_value = ~np.isnan(per_seed[0])
    instances = has_value.any(axis=0)
    has_value = has_value[:, instances]
    return Cells(np.stack([np.where(has_value, arm[:, instances], 0) for arm in per_seed]), has_value)


def resampled_means(cells: Cells, spec: StatisticsSpec) -> Values:
    """Return each arm's mean under every resample: (arm, resample).

    Instances are resampled, and as a crossed factor the training seeds where there are several. All arms have the same
    draws, so that pairs stay together; so have any cells of as many seeds and instances under the same `spec`.
    """
    arm_count, seed_count, instance_count = cells.arms.shape
    # One column for each arm and seed: a mean of a resample is a sum of columns, weighted by how often each was drawn.
    columns = cells.arms.reshape(arm_count * seed_count, instance_count).T
    presence = cells.has_value.astype(float).T
    is_whole = bool(cells.has_value.all())
    batches = []
    for seed_weights, instance_weights in _draw_weights(seed_count, instance_count, spec):
        sums = (instance_weights @ columns).reshape(-1, arm_count, seed_count)
        weighted = np.einsum("ras,rs->ar", sums, seed_weights)
        if is_whole:
            counts = np.full(len(seed_weights), float(seed_count * instance_count))
        else:
            counts = np.einsum("rs,rs->r", instance_weights @ presence, seed_weights)
        with np.errstate(divide="ignore", invalid="ignore"):
            batches.append(weighted / counts)
    return np.concatenate(batches, axis=1)


def _draw_weights(seed_count: int, instance_count: int, spec: StatisticsSpec) -> Iterator[tuple[Values, Values]]:
    """Yield, by batch, how often each seed and instance was drawn."""
    rng = np.random.default_rng(spec.seed)
    batch = max(1, BATCH_VALUES // (seed_count * instance_count))
    for start in range(0, spec.resample_count, batch):
        count = min(batch, spec.resample_count - start)
        yield _draw_counts(rng, count, seed_count), _draw_counts(rng, count, instance_count)


def _draw_counts(rng: np.random.Generator, resample_count: int, unit_count: int) -> Values:
    """Return how often each unit was drawn, with replacement, per resample."""
    drawn = rng.integers(0, unit_count, (resample_count, unit_count))
    drawn += np.arange(resample_count)[:, np.newaxis] * unit_count
    counts = np.bincount(drawn.ravel(), minlength=resample_count * unit_count)
    return counts.reshape(resample_count, unit_count).astype(float)


class GroupMeans:
    """Resampled means of a group's arms, shared by all of its statistics.

    Statistics that stand on the same cells share one pass over the draws, which resamples every metric of every arm.
    """

    def __init__(self, arms: Arms, spec: StatisticsSpec) -> None:
        self.arms = arms
        self.spec = spec
        self._known: dict[object, dict[tuple[str, ComparedArm], Values]] = {}

    def of(self, metric: str, compared: Sequence[ComparedArm], aligned: Aligned) -> Values:
        """Return the compared arms' means under every resample, by (arm, resample)."""
        has_value = ~np.isnan(aligned.arms[0])
        known = self._known.setdefault((aligned.draws, has_value.tobytes()), {})
        if any((metric, arm) not in known for arm in compared):
            known.update(self._resample(metric, compared, aligned, has_value))
        return np.stack([known[metric, arm] for arm in compared])

    def _resample(
        self, metric: str, compared: Sequence[ComparedArm], aligned: Aligned, has_value: NDArray[np.bool_]
    ) -> dict[tuple[str, ComparedArm], Values]:
        """Resample the compared arms, and all others on the same cells."""
        found = {(metric, arm): values for arm, values in zip(compared, aligned.arms, strict=True)}
        for other in self.arms.metrics:
            for arm in self.arms.played:
                values = self.arms.on_draws(other, arm, aligned.draws)
                if values is not None and np.array_equal(~np.isnan(values), has_value):
                    found.setdefault((other, arm), values)
        cells = cells_of(Aligned(aligned.draws, tuple(found.values())))
        return dict(zip(found, resampled_means(cells, self.spec), strict=True))
