"""Spending of a plan's landed episodes, as a meter to continue."""

import threading
from typing import get_args

import polars as pl

from carryover.storage.zone.landing import LandingZone
from carryover.tasks.plans.run import Limits, Run
from carryover.tasks.services.limits import Meter, Spent
from carryover.tasks.traces.vocabulary import Purpose

_meters: dict[tuple[str, Limits], Meter] = {}
"""The open meters: conditions that are played side by side spend from one limit."""
_lock = threading.Lock()


def share_meter(run: Run, zone: LandingZone) -> Meter:
    """Return the run's meter, opened with the plan's earlier spending.

    Read only where a limit is set.
    """
    limits = run.limits.model_copy(update={"refresh": ()})  # conditions that refresh spend from the same
    with _lock:
        if (run.run_id, limits) not in _meters:
            spent = billed = Spent()
            if limits.max_tokens_total is not None or limits.max_cost is not None:
                is_asked = (pl.col("plan_digest") == run.plan.digest) & (pl.col("token_source") == "server")
                # No reply counts twice.
                turns = zone.scan("turns").filter(~pl.col("is_replayed").fill_null(value=False))
                for purpose in get_args(Purpose):
                    episodes = zone.scan("episodes").filter(is_asked & (pl.col("purpose") == purpose))
                    asked = turns.join(episodes, on="episode_id", how="semi")
                    landed = Spent(*asked.select(pl.col(Spent._fields).sum()).collect().row(0))
                    spent = spent.plus(landed)
                    if run.plan.is_billed(purpose):
                        billed = billed.plus(landed)
            _meters[run.run_id, limits] = Meter(spent, billed, limits.prices, limits.max_tokens_total, limits.max_cost)
        return _meters[run.run_id, limits]


def close_meter(run: Run) -> None:
    """Forget the run's meter.

    Conditions that are played from now on are counted anew, and no failure stops them.
    """
    with _lock:
        for opened in [key for key in _meters if key[0] == run.run_id]:
            del _meters[opened]
