"""Spending of a plan's landed episodes, as a meter to continue."""

import threading
from typing import get_args

import polars as pl

from carryover.storage.zone.landing import LandingZone
from carryover.tasks.agent.client import EndpointClientSpec
from carryover.tasks.plans.run import Limits, Run
from carryover.tasks.plans.shards import ShardSpec
from carryover.tasks.services.limits import Meter, Spent
from carryover.tasks.traces.vocabulary import Purpose

_meters: dict[tuple[str, Limits], Meter] = {}
"""The open meters: conditions that are played side by side spend from one limit."""
_lock = threading.Lock()


def is_billed(run: Run, shard: ShardSpec) -> bool:
    """Tell whether a shard's tokens cost money: its endpoint was given by URL."""
    is_endpoint = isinstance(shard.client, EndpointClientSpec)
    return is_endpoint and (shard.is_billed or run.plan.is_billed(shard.condition.purpose))


def share_meter(run: Run, zone: LandingZone, shard: ShardSpec) -> Meter:
    """Return the run's meter, opened with the plan's earlier spending.

    Read only where a limit is set. What this run has landed of the shard's purpose is billed where the shard is.
    """
    limits = run.limits.model_copy(update={"refresh": ()})  # conditions that refresh spend from the same
    with _lock:
        if (run.run_id, limits) not in _meters:
            spent = billed = Spent()
            if limits.max_tokens_total is not None or limits.max_cost is not None:
                is_asked = (pl.col("plan_digest") == run.plan.digest) & (pl.col("token_source") == "server")
                asked = zone.scan("episodes").filter(is_asked)
                spent = _spent_by(zone, asked)
                billed = _spent_by(zone, asked.filter(_was_billed(run, shard)))
            _meters[run.run_id, limits] = Meter(spent, billed, limits.prices, limits.max_tokens_total, limits.max_cost)
        return _meters[run.run_id, limits]


def close_meter(run: Run) -> None:
    """Forget the run's meter.

    Conditions that are played from now on are counted anew, and no failure stops them.
    """
    with _lock:
        for opened in [key for key in _meters if key[0] == run.run_id]:
            del _meters[opened]


def _spent_by(zone: LandingZone, episodes: pl.LazyFrame) -> Spent:
    """Return the tokens of landed episodes, without replayed replies: none counts twice."""
    turns = zone.scan("turns").filter(~pl.col("is_replayed").fill_null(value=False))
    asked = turns.join(episodes, on="episode_id", how="semi")
    return Spent(*asked.select(pl.col(Spent._fields).sum()).collect().row(0))


def _was_billed(run: Run, shard: ShardSpec) -> pl.Expr:
    """Return the condition on landed episodes that cost money.

    An episode does not say which endpoint answered. Within a run the shards of a purpose share theirs.
    """
    by_plan = [purpose for purpose in get_args(Purpose) if run.plan.is_billed(purpose)]
    is_of_run = (pl.col("run_id") == run.run_id) & (pl.col("purpose") == shard.condition.purpose)
    return pl.col("purpose").is_in(by_plan) | (is_of_run & is_billed(run, shard))
