"""Rows of `statistics`, identified by what they are a statistic of."""

import json
from hashlib import sha256
from itertools import chain
from typing import Any, NamedTuple

from carryover.tasks.analysis.statistics_spec import ComparedArm, Comparison
from carryover.tasks.traces.result_rows import StatisticRow

GROUP_COLUMNS = ("variant", "base", "visibility", "header", "bucket")
"""Columns that compared episodes share, beside their plan."""


class StatisticGroup(NamedTuple):
    """The episodes that a statistic is about."""

    run_id: str
    plan_digest: str
    variant: str
    base: str
    visibility: str
    header: str
    bucket: str

    def row(self, analysis: str, comparison_group: str, metric: str, *arms: ComparedArm, **values: Any) -> StatisticRow:
        """Return a row, with an id that digests its identity.

        `values` are the row's other columns, `pair_count` and `method` among them. The name of a method is what stands
        before the first comma: how many units were resampled is no part of the identity, so that a statistic computed
        again replaces the one before.
        """
        names = ("analysis", "comparison_group", "metric", "train_a", "runtime_a", "train_b", "runtime_b")
        contracts = [*chain.from_iterable(arms)] + [None] * 4
        identity = self._asdict() | dict(zip(names, (analysis, comparison_group, metric, *contracts), strict=False))
        run_id = identity.pop("run_id")
        named = {**identity, "method": values["method"].partition(",")[0]}
        statistic_id = sha256(json.dumps(named, sort_keys=True).encode()).hexdigest()
        measured = {"run_id": run_id, **identity, **values, "statistic_id": statistic_id}
        return StatisticRow(**dict.fromkeys(StatisticRow.model_fields) | measured)

    def comparison_row(self, analysis: str, comparison: Comparison, metric: str, **values: Any) -> StatisticRow:
        """Return the row of a statistic of two arms.

        `values` are as for `row`.
        """
        return self.row(analysis, comparison.group, metric, comparison.a, comparison.b, **values)


def averaged_over_seeds(method: str, seed_count: int) -> str:
    """Return the description of a test and its unit of analysis.

    Where several models, one per training seed, played the instances, an instance counts once.
    """
    if seed_count < 2:
        return method
    return f"{method}, one value per instance: its mean over {seed_count} training seeds"
