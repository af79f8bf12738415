"""The statistics of episodes that are kept in the repository."""

from typing import Any

import polars as pl

from carryover.tasks.analysis.compute import compute_statistics
from carryover.tasks.analysis.spec import StatisticsSpec
from carryover.tasks.running.progress import OpenBar, no_bar
from carryover.tasks.traces.study_rows import StatisticRow


def kept_statistics(
    episodes: pl.DataFrame, plan_digest: str, settings: dict[str, Any], open_bar: OpenBar = no_bar
) -> list[StatisticRow]:
    """Return the statistics of kept episodes of one plan digest, by a plan's settings for its statistics."""
    spec = StatisticsSpec.model_validate(settings)
    return compute_statistics(episodes, plan_digest=plan_digest, run_id=plan_digest, spec=spec, open_bar=open_bar)
