"""Episodes of several arms on the same training seeds and instances."""

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from carryover.tasks.analysis.statistics_spec import METRICS, ComparedArm, PlannedGroup

Values = NDArray[np.float64]
"""Values by (training seed and replicate, instance); NaN if there is no episode or no value."""

Draw = tuple[int | None, int]
"""Training seed and replicate."""


class ArmTable(NamedTuple):
    """One arm's metric by draw and instance."""

    draws: tuple[Draw, ...]
    """Draw of each row of `values`, sorted."""
    instance_ids: pl.Series
    """Instance of each column of `values`, sorted; tables that share the series stand on the same columns."""
    values: Values

    def of_replicate(self, replicate: int) -> "ArmTable":
        """Return one replicate of every training seed, as the only one."""
        rows = [row for row, draw in enumerate(self.draws) if draw[1] == replicate]
        draws = tuple((self.draws[row][0], 0) for row in rows)
        return ArmTable(draws, self.instance_ids, self.values[rows])


class Aligned(NamedTuple):
    """A metric of several arms on the same draws and instances.

    NaN in one arm is NaN in all.
    """

    draws: tuple[Draw, ...]
    """Draw of each row; several rows share a training seed where there are replicates, which come in order."""
    arms: tuple[Values, ...]

    @property
    def training_seeds(self) -> tuple[int | None, ...]:
        """Training seed of each row."""
        return tuple(seed for seed, _ in self.draws)

    @property
    def instance_count(self) -> int:
        """Instances on which all arms have a value."""
        if self.arms[0].size:
            return int((~np.isnan(self.arms[0])).any(axis=0).sum())
        return 0

    @property
    def seed_count(self) -> int:
        """Distinct training seeds."""
        return len(set(self.training_seeds))

    def per_instance(self) -> tuple[Values, ...]:
        """Return each arm's mean per instance, over seeds and replicates.

        Instances without a value are left out.
        """
        present = ~np.isnan(self.arms[0]).all(axis=0)
        return tuple(np.nanmean(values[:, present], axis=0) for values in self.arms)

    def per_seed(self) -> tuple[Values, ...]:
        """Return each arm's values by training seed and instance, averaged over replicates."""
        return tuple(average_replicates(values, self.training_seeds) for values in self.arms)

    def seed_means(self) -> list[tuple[float, ...]]:
        """Return the arms' means over instances, by training seed.

        Seeds without values are left out.
        """
        return [
            tuple(float(np.nanmean(values)) for values in rows)
            for rows in zip(*self.per_seed(), strict=True)
            if not np.isnan(rows[0]).all()
        ]


class Arms:
    """One group's episodes by arm, laid out once per metric.

    Beside them stands what the plan plays of the group.
    """

    def __init__(
        self,
        episodes: pl.DataFrame,
        planned: PlannedGroup = PlannedGroup(),  # noqa: B008 - a tuple
        scripts: pl.DataFrame | None = None,
    ) -> None:
        """Lay out episodes and `scripts`, the scripted teachers' arms.

        `script_of` names a cell's script.
        """
        own = _by_arm(episodes)
        self._frames = own | _script_arms(scripts)
        instance_ids = pl.concat([frame["instance_id"] for frame in self._frames.values()]).unique().sort()
        self._layouts = {arm: _lay_out(frame, instance_ids) for arm, frame in self._frames.items()}
        self._tables: dict[tuple[ComparedArm, str], ArmTable] = {}
        self._nothing = ArmTable((), instance_ids, np.empty((0, instance_ids.len())))
        self.present = sorted(own, key=lambda arm: (arm.train or "", arm.runtime))
        """Arms with episodes, in a fixed order, without the scripts."""
        self.played = [*self.present, *(arm for arm in self._frames if arm not in own)]
        """Arms with episodes, the scripts last."""
        known = set(chain.from_iterable(METRICS.values()))
        self.metrics = sorted(known.intersection(episodes.columns))
        """Metrics of the statistics that the episodes have."""
        self.planned = planned.arms | own.keys()
        """Arms that the plan plays, whether they have episodes or not."""
        trained = episodes.filter(pl.col("train_contract").is_not_null())
        self.replicates = sorted({*range(planned.replicates), *trained["replicate"]})
        """Replicates of the trained arms, likewise."""

    def has(self, *arms: ComparedArm) -> bool:
        """Tell whether all given arms have episodes."""
        return all(arm in self._frames for arm in arms)

    def table(self, metric: str, arm: ComparedArm) -> ArmTable:
        """Return a metric of an arm by draw and instance.

        Empty if the arm was not played.
        """
        if arm not in self._frames:
            return self._nothing
        if (arm, metric) not in self._tables:
            self._tables[arm, metric] = _fill(self._layouts[arm], self._frames[arm], metric)
        return self._tables[arm, metric]

    def on_draws(self, metric: str, arm: ComparedArm, draws: Sequence[Draw]) -> Values | None:
        """Return a metric of an arm, rows as in `draws`.

        None if a draw was not played.
        """
        table = self.table(metric, arm)
        rows = [row for row in (_row_of(table, draw) for draw in draws) if row is not None]
        if len(rows) == len(draws):
            return table.values[rows]
        return None

    def align(self, metric: str, *arms: ComparedArm) -> Aligned:
        """Return a metric of arms on their shared draws and instances."""
        return align([self.table(metric, arm) for arm in arms])


def means(aligned: Aligned) -> dict[str, float | None]:
    """Return two arms' means by instance; None if they share none."""
    a, b = aligned.per_instance()
    return {"mean_a": mean_of(a), "mean_b": mean_of(b)}


def mean_of(values: Values) -> float | None:
    """Return a mean; None of nothing."""
    if values.size:
        return float(values.mean())
    return None


def arm_table(episodes: pl.DataFrame, metric: str) -> ArmTable:
    """Lay one arm's episodes out by draw and instance.

    `episodes` are rows of `marts.episode_metrics` of one arm, one per (training_seed, replicate, instance_id): raise
    `ValueError` for two.
    """
    return _fill(_lay_out(episodes, episodes["instance_id"].unique().sort()), episodes, metric)


def align(tables: Sequence[ArmTable]) -> Aligned:
    """Keep the draws and instances that all arms share.

    An arm without training seeds (the base model) stands beside every seed of the others, replicate by replicate.
    """
    seeded = [table for table in tables if any(seed is not None for seed, _ in table.draws)]
    draws = _shared_draws([*seeded, *tables])
    arms = []
    for table, columns in zip(tables, _shared_columns(tables), strict=True):
        rows = [row for row in (_row_of(table, draw) for draw in draws) if row is not None]
        arms.append(table.values[rows][:, columns])
    is_missing = np.isnan(np.stack(arms)).any(axis=0)
    return Aligned(draws, tuple(np.where(is_missing, np.nan, values) for values in arms))


def _shared_draws(tables: Sequence[ArmTable]) -> tuple[Draw, ...]:
    """Return the draws (training seed, replicate) that every table has, in the first one's order."""
    shared = []
    for draw in tables[0].draws:
        if all(_row_of(table, draw) is not None for table in tables):
            shared.append(draw)
    return tuple(shared)


def average_replicates(values: Values, training_seeds: Sequence[int | None]) -> Values:
    """Return values by training seed and instance, averaged over replicates.

    Replicates without a value are left out.
    """
    seeds = sorted(set(training_seeds), key=lambda seed: -1 if seed is None else seed)
    if not seeds:
        return np.empty((0, values.shape[1]))
    averaged = []
    for seed in seeds:
        own = values[[row for row, other in enumerate(training_seeds) if other == seed]]
        with np.errstate(invalid="ignore"):  # 0 / 0, the mean of no replicate, is NaN
            averaged.append(np.nansum(own, axis=0) / (~np.isnan(own)).sum(axis=0))
    return np.stack(averaged)


def script_of(arm: ComparedArm) -> ComparedArm:
    """Return the arm of a contract's script beside a trained `arm`."""
    return ComparedArm(f"script {arm.train}", arm.runtime)


def _script_arms(scripts: pl.DataFrame | None) -> dict[ComparedArm, pl.DataFrame]:
    """Return the scripted teachers' episodes by the name of their arm."""
    if scripts is None:
        return {}
    return {script_of(arm): frame for arm, frame in _by_arm(scripts).items() if arm.train is not None}


def _by_arm(episodes: pl.DataFrame) -> dict[ComparedArm, pl.DataFrame]:
    parts = episodes.partition_by("train_contract", "runtime_contract", as_dict=True)
    return {ComparedArm(train, runtime): frame for (train, runtime), frame in parts.items()}


class _Layout(NamedTuple):
    """An arm's places: a row per draw, a column per instance."""

    draws: tuple[Draw, ...]
    instance_ids: pl.Series
    rows: NDArray[np.intp]
    columns: NDArray[np.intp]


def _lay_out(episodes: pl.DataFrame, instance_ids: pl.Series) -> _Layout:
    pairs = episodes.select("training_seed", "replicate")
    drawn = pairs.unique().sort("training_seed", "replicate", nulls_last=False).with_row_index("row")
    rows = pairs.join(drawn, on=["training_seed", "replicate"], nulls_equal=True, how="left", maintain_order="left")
    columns = instance_ids.search_sorted(episodes["instance_id"])
    places = rows.select("row").with_columns(column=columns)
    is_repeated = places.is_duplicated()
    if is_repeated.any():
        place = episodes.filter(is_repeated).row(0, named=True)
        twice = (place["training_seed"], place["replicate"], place["instance_id"])
        raise ValueError(f"two episodes for (training seed, replicate, instance) {twice}; keep the last attempt only")
    draws = tuple(drawn.select("training_seed", "replicate").rows())
    return _Layout(draws, instance_ids, places["row"].to_numpy(), places["column"].to_numpy())


def _fill(layout: _Layout, episodes: pl.DataFrame, metric: str) -> ArmTable:
    values = np.full((len(layout.draws), layout.instance_ids.len()), np.nan)
    measured = episodes[metric].cast(pl.Float64).fill_null(np.nan)
    values[layout.rows, layout.columns] = measured.to_numpy()
    return ArmTable(layout.draws, layout.instance_ids, values)


def _row_of(table: ArmTable, draw: Draw) -> int | None:
    """Return a draw's row, or its replicate's in arms without seeds."""
    for wanted in (draw, (None, draw[1])):
        if wanted in table.draws:
            return table.draws.index(wanted)
    return None


def _shared_columns(tables: Sequence[ArmTable]) -> list[NDArray[np.intp] | slice]:
    """Return each table's columns of the shared instances, in one order."""
    first = tables[0].instance_ids
    if all(table.instance_ids is first for table in tables):
        return [slice(None)] * len(tables)
    shared = first
    for table in tables[1:]:
        shared = shared.filter(shared.is_in(table.instance_ids.implode()))
    return [table.instance_ids.search_sorted(shared).to_numpy() for table in tables]
