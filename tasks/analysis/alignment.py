"""Episodes of several arms laid out on the same training seeds and instances."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from carryover.tasks.analysis.statistics_spec import ComparedArm, PlannedGroup

Values = NDArray[np.float64]
"""Values by (training seed and replicate, instance); NaN if there is no episode or no value."""

Draw = tuple[int | None, int]
"""Training seed and replicate."""

ArmTable = dict[Draw, dict[str, float]]
"""One arm's metric by draw and instance."""


class Aligned(NamedTuple):
    """A metric of several arms on the same draws and instances; NaN in one arm is NaN in all."""

    training_seeds: tuple[int | None, ...]
    """Training seed of each row; several rows share one where there are replicates, which come in order."""
    instance_ids: tuple[str, ...]
    arms: tuple[Values, ...]

    @property
    def instance_count(self) -> int:
        """Instances on which all arms have a value."""
        return int((~np.isnan(self.arms[0])).any(axis=0).sum()) if self.arms[0].size else 0

    @property
    def seed_count(self) -> int:
        """Distinct training seeds."""
        return len(set(self.training_seeds))

    def per_instance(self) -> tuple[Values, ...]:
        """Return each arm's mean per instance over seeds and replicates, for instances that have one."""
        present = ~np.isnan(self.arms[0]).all(axis=0)
        return tuple(np.nanmean(values[:, present], axis=0) for values in self.arms)

    def per_seed(self) -> tuple[Values, ...]:
        """Return each arm's values by training seed and instance, averaged over replicates."""
        seeds = sorted(set(self.training_seeds), key=lambda seed: -1 if seed is None else seed)
        rows = [[index for index, own in enumerate(self.training_seeds) if own == seed] for seed in seeds]
        with np.errstate(invalid="ignore"):  # 0 / 0, the mean of no replicate, is NaN
            return tuple(
                np.stack([np.nansum(arm[own], axis=0) / (~np.isnan(arm[own])).sum(axis=0) for own in rows])
                for arm in self.arms
            )

    def seed_means(self) -> list[tuple[float, ...]]:
        """Return the arms' means over instances under each training seed alone, for seeds that have values."""
        return [
            tuple(float(np.nanmean(values)) for values in rows)
            for rows in zip(*self.per_seed(), strict=True)
            if not np.isnan(rows[0]).all()
        ]


class Arms:
    """One group's episodes by arm, laid out once per metric, beside what the plan plays of the group."""

    def __init__(self, episodes: pl.DataFrame, planned: PlannedGroup = PlannedGroup()) -> None:  # noqa: B008 - a tuple
        parts = episodes.partition_by("train_contract", "runtime_contract", as_dict=True)
        self._frames = {ComparedArm(train, runtime): frame for (train, runtime), frame in parts.items()}
        self._tables: dict[tuple[ComparedArm, str], ArmTable] = {}
        self.present = sorted(self._frames, key=lambda arm: (arm.train or "", arm.runtime))
        """Arms with episodes, in a fixed order."""
        self.planned = planned.arms | self._frames.keys()
        """Arms that the plan plays, whether they have episodes or not."""
        trained = episodes.filter(pl.col("train_contract").is_not_null())
        self.replicates = sorted({*range(planned.replicates), *trained["replicate"]})
        """Replicates of the trained arms, likewise."""

    def has(self, *arms: ComparedArm) -> bool:
        """Tell whether all given arms have episodes."""
        return all(arm in self._frames for arm in arms)

    def table(self, metric: str, arm: ComparedArm) -> ArmTable:
        """Return a metric of an arm by draw and instance; empty if it was not played."""
        if (arm, metric) not in self._tables:
            frame = self._frames.get(arm)
            self._tables[arm, metric] = {} if frame is None else arm_table(frame, metric)
        return self._tables[arm, metric]

    def align(self, metric: str, *arms: ComparedArm) -> Aligned:
        """Return a metric of the arms on the draws and instances that they share."""
        return align([self.table(metric, arm) for arm in arms])


def means(aligned: Aligned) -> dict[str, float | None]:
    """Return two arms' means over instances as columns; None if they share no instance."""
    a, b = (float(values.mean()) if values.size else None for values in aligned.per_instance())
    return {"mean_a": a, "mean_b": b}


def arm_table(episodes: pl.DataFrame, metric: str) -> ArmTable:
    """Lay one arm's episodes out by draw and instance.

    `episodes` are rows of `marts.episode_metrics` of one arm, one per (training_seed, replicate, instance_id): raise
    `ValueError` for two.
    """
    table: ArmTable = {}
    columns = episodes.select("training_seed", "replicate", "instance_id", pl.col(metric).cast(pl.Float64))
    for training_seed, replicate, instance_id, value in columns.rows():
        values = table.setdefault((training_seed, replicate), {})
        if instance_id in values:
            twice = f"(training seed, replicate, instance) {(training_seed, replicate, instance_id)}"
            raise ValueError(f"two episodes for {twice}; keep the last attempt only")
        values[instance_id] = np.nan if value is None else value
    return table


def align(arms: Sequence[ArmTable]) -> Aligned:
    """Keep the draws and instances that all arms share.

    An arm without training seeds (the base model) stands beside every seed of the others, replicate by replicate.
    """

    def values_of(arm: ArmTable, draw: Draw) -> dict[str, float] | None:
        return arm.get(draw) or arm.get((None, draw[1]))

    instance_ids = sorted(set.intersection(*(set().union(*arm.values()) for arm in arms)))
    seeded = [arm for arm in arms if any(seed is not None for seed, _ in arm)] or list(arms)
    shared = (draw for draw in seeded[0] if all(values_of(arm, draw) for arm in arms))
    draws = sorted(shared, key=lambda draw: (-1 if draw[0] is None else draw[0], draw[1]))
    values = np.array(
        [[[(values_of(arm, draw) or {}).get(i, np.nan) for i in instance_ids] for draw in draws] for arm in arms]
    ).reshape(len(arms), len(draws), len(instance_ids))
    is_missing = np.isnan(values).any(axis=0)
    return Aligned(tuple(seed for seed, _ in draws), tuple(instance_ids), tuple(np.where(is_missing, np.nan, values)))
