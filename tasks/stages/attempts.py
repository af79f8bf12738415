"""Landed episodes of a shard, and attempts still to be played."""

from collections.abc import Iterator
from typing import NamedTuple

import polars as pl

from carryover.storage.zone.landing import LandingZone
from carryover.tasks.agent.protocol import EndpointDownError
from carryover.tasks.plans.run import Run
from carryover.tasks.plans.shards import ShardSpec
from carryover.tasks.stages.stage_results import instance_ids
from carryover.tasks.traces.vocabulary import FinishReason


class EpisodePlace(NamedTuple):
    """An episode of the plan without its instance, to save memory.

    A plan may hold many thousand.
    """

    instance_id: str
    replicate: int
    attempt: int


def missing_episodes(run: Run, zone: LandingZone, shard: ShardSpec, *, plays_again: bool = False) -> list[EpisodePlace]:
    """Return episodes that have not landed, or may follow an `error`.

    An attempt that met an endpoint that was down counts towards no maximum. With `plays_again`, every episode is to be
    played once more in this run.
    """
    landed = zone.landed_episodes()
    unheard = frozenset() if shard.maximum_attempts is None else unheard_attempts(zone)
    own = {}
    if plays_again:
        own = zone.landed_episodes(run_id=run.run_id)
    places = []
    for instance_id, replicate, attempts in _landed_attempts(run, zone, shard):
        heard_count = len(attempts) - len(unheard.intersection(attempts))
        is_given_up = shard.maximum_attempts is not None and heard_count >= shard.maximum_attempts
        is_last = bool(attempts) and (landed[attempts[-1]] is not FinishReason.ERROR or is_given_up)
        if not is_last or (plays_again and attempts[-1] not in own):
            places.append(EpisodePlace(instance_id, replicate, len(attempts)))
    return places


def landed_episode_ids(run: Run, zone: LandingZone, shard: ShardSpec) -> list[str]:
    """Return a shard's landed episode ids, every attempt, of any plan."""
    names = []
    for _, _, attempts in _landed_attempts(run, zone, shard):
        names += attempts
    return names


def unheard_attempts(zone: LandingZone) -> frozenset[str]:
    """Return the episodes whose endpoint never answered."""
    errors = zone.scan("errors").filter(pl.col("error_type") == EndpointDownError.__name__)
    return frozenset(errors.select("episode_id").collect()["episode_id"])


def _landed_attempts(run: Run, zone: LandingZone, shard: ShardSpec) -> Iterator[tuple[str, int, list[str]]]:
    """Yield instance, replicate and landed attempts of a shard's episodes."""
    landed = zone.landed_episodes()
    for instance_id in instance_ids(run, zone, shard.instances):
        for replicate in range(shard.first_replicate, shard.first_replicate + shard.replicates):
            attempts: list[str] = []
            while (name := shard.episode_id(instance_id, replicate, len(attempts))) in landed:
                attempts.append(name)
            yield instance_id, replicate, attempts
