"""Rows of `statistics`, identified by their content."""

import json
from hashlib import sha256
from typing import Any, NamedTuple

from tasks.analysis.spec import Arm
from tasks.traces.study_rows import StatisticRow

GROUP_COLUMNS = ("variant", "base", "visibility", "header", "bucket")
"""What episodes must share to be compared, beside their plan."""

OPTIONAL_FIELDS = (
    "nonzero_count",
    "mean_a",
    "mean_b",
    "estimate",
    "low",
    "high",
    "confidence",
    "statistic",
    "p_value",
    "p_holm",
    "effect_size",
    "effect_size_authors",
    "verdict",
    "note",
)


class StatisticGroup(NamedTuple):
    """The episodes that a statistic is about."""

    run_id: str
    plan_digest: str
    variant: str
    base: str
    visibility: str
    header: str
    bucket: str

    def row(
        self,
        analysis: str,
        comparison_group: str,
        metric: str,
        a: Arm | None = None,
        b: Arm | None = None,
        *,
        pair_count: int,
        method: str,
        **values: Any,
    ) -> StatisticRow:
        """Return a row; its id is a digest of everything in it but the run, so that equal results land once."""
        content = {
            **{name: value for name, value in self._asdict().items() if name != "run_id"},
            "analysis": analysis,
            "comparison_group": comparison_group,
            "metric": metric,
            "train_a": a.train if a else None,
            "runtime_a": a.runtime if a else None,
            "train_b": b.train if b else None,
            "runtime_b": b.runtime if b else None,
            "pair_count": pair_count,
            "method": method,
            **dict.fromkeys(OPTIONAL_FIELDS),
            **values,
        }
        digest = sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
        return StatisticRow(run_id=self.run_id, statistic_id=digest, **content)
