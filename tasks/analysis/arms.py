"""One group's episodes by arm, as its statistics ask for them."""

import polars as pl

from carryover.tasks.analysis.alignment import Aligned, ArmTable, align, arm_table
from carryover.tasks.analysis.spec import Arm


class Arms:
    """One group's episodes by arm, laid out once per metric."""

    def __init__(self, episodes: pl.DataFrame) -> None:
        parts = episodes.partition_by("train_contract", "runtime_contract", as_dict=True)
        self.frames = {Arm(train, runtime): frame for (train, runtime), frame in parts.items()}
        self._tables: dict[tuple[Arm, str], ArmTable] = {}

    @property
    def present(self) -> list[Arm]:
        """Arms with episodes, in a fixed order."""
        return sorted(self.frames, key=lambda arm: (arm.train or "", arm.runtime))

    def has(self, *arms: Arm) -> bool:
        """Tell whether all of some arms have episodes."""
        return all(arm in self.frames for arm in arms)

    def align(self, metric: str, *arms: Arm) -> Aligned:
        """Return a metric of some arms on the draws and instances that they share."""
        return align([self._table(arm, metric) for arm in arms])

    def _table(self, arm: Arm, metric: str) -> ArmTable:
        if (arm, metric) not in self._tables:
            self._tables[arm, metric] = arm_table(self.frames[arm], metric)
        return self._tables[arm, metric]


def mean_pair(aligned: Aligned) -> list[float | None]:
    """Return each arm's mean over instances, None where the arms share none."""
    return [float(values.mean()) if values.size else None for values in aligned.per_instance()]
