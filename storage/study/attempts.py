"""What has landed of a shard's episodes, and which attempts are still to be played."""

from collections.abc import Iterator
from typing import NamedTuple

import polars as pl

from carryover.storage.zone.landing import LandingZone
from carryover.tasks.agent.protocol import EndpointDownError
from carryover.tasks.knapsack.sampling import sample_instance
from carryover.tasks.knapsack.spec import open_bucket
from carryover.tasks.plans.run import Run
from carryover.tasks.plans.shards import ShardSpec
from carryover.tasks.plans.spec import InstanceSetSpec
from carryover.tasks.running.errors import UserError
from carryover.tasks.traces.rows import FinishReason


class EpisodePlace(NamedTuple):
    """An episode of the plan, without its instance: a plan may hold many thousand."""

    seed: int
    replicate: int
    attempt: int


def missing_episodes(zone: LandingZone, shard: ShardSpec, *, plays_again: bool = False) -> list[EpisodePlace]:
    """Return the episodes that have not landed, or whose last attempt ended with `error` and may be followed.

    An attempt that met an endpoint that was down counts towards no maximum. With `plays_again`, every episode is to be
    played once more.
    """
    landed = zone.landed_episodes()
    unheard = frozenset() if shard.maximum_attempts is None else unheard_attempts(zone)
    places = []
    for seed, replicate, attempts in _landed_attempts(landed, shard):
        is_last = bool(attempts) and (
            landed[attempts[-1]] is not FinishReason.ERROR
            or (
                shard.maximum_attempts is not None
                and len(attempts) - len(unheard.intersection(attempts)) >= shard.maximum_attempts
            )
        )
        if plays_again or not is_last:
            places.append(EpisodePlace(seed, replicate, len(attempts)))
    return places


def landed_episode_ids(zone: LandingZone, shard: ShardSpec) -> list[str]:
    """Return the ids of a shard's landed episodes, every attempt, whichever plan played them."""
    return [name for _, _, attempts in _landed_attempts(zone.landed_episodes(), shard) for name in attempts]


def unheard_attempts(zone: LandingZone) -> frozenset[str]:
    """Return the ids of the episodes that ended because nobody answered at their endpoint."""
    errors = zone.scan("errors").filter(pl.col("error_type") == EndpointDownError.__name__)
    return frozenset(errors.select("episode_id").collect()["episode_id"])


def check_instances(run: Run, zone: LandingZone, instances: InstanceSetSpec) -> None:
    """Return when the source that is here samples the instances that a study has landed.

    Raises:
        UserError: It samples others, which would be no evaluation on the same ones.
    """
    ids = {instance_id for _, instance_id in _instance_ids(instances)}
    landed = zone.scan("instances").filter(pl.col("instance_id").is_in(sorted(ids))).select("instance_id").collect()
    if unknown := len(ids - set(landed["instance_id"])):
        raise UserError(
            f"{unknown} of {len(ids)} instances of bucket {instances.bucket} are not those of plan {run.plan.digest}: "
            f"the source that is here samples others than source {run.plan.source}; check out that source, or "
            "start the study again with `carryover run`"
        )


def _landed_attempts(landed: dict[str, FinishReason], shard: ShardSpec) -> Iterator[tuple[int, int, list[str]]]:
    """Yield seed and replicate of every episode of a shard, with the ids of its landed attempts in order."""
    for seed, instance_id in _instance_ids(shard.instances):
        for replicate in range(shard.first_replicate, shard.first_replicate + shard.replicates):
            attempts: list[str] = []
            while (name := shard.episode_id(instance_id, replicate, len(attempts))) in landed:
                attempts.append(name)
            yield seed, replicate, attempts


def _instance_ids(instances: InstanceSetSpec) -> list[tuple[int, str]]:
    spec = open_bucket(instances.bucket)
    return [(seed, sample_instance(spec, seed).instance_id) for seed in instances.seeds]
