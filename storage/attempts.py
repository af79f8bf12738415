"""What has landed of a condition's episodes, and which attempts are still to be played."""

from typing import NamedTuple

import polars as pl

from storage.landing import LandingZone
from tasks.agent.condition import Condition
from tasks.agent.episode_id import episode_id
from tasks.agent.protocol import EndpointDownError
from tasks.knapsack.sampling import sample_instance
from tasks.knapsack.spec import open_bucket
from tasks.plans.run import Run
from tasks.plans.spec import InstanceSetSpec
from tasks.running.errors import UserError
from tasks.traces.rows import FinishReason


class EpisodePlace(NamedTuple):
    """An episode of the plan, without its instance: a plan may hold many thousand."""

    seed: int
    replicate: int
    attempt: int


def missing_episodes(
    run: Run,
    zone: LandingZone,
    condition: Condition,
    instances: InstanceSetSpec,
    replicates: int = 1,
    *,
    maximum_attempts: int | None = None,
) -> list[EpisodePlace]:
    """Return the episodes that have not landed, or whose last attempt ended with `error` and may be followed.

    An attempt that met an endpoint that was down says nothing about its episode and counts towards no maximum.
    """
    landed = zone.landed_episodes(run.plan.digest)
    unheard = frozenset() if maximum_attempts is None else unheard_attempts(zone)
    places = []
    for seed, instance_id in _instance_ids(instances):
        for replicate in range(replicates):
            attempt = counted = 0
            while (name := episode_id(condition, instance_id, run.plan.digest, replicate, attempt)) in landed:
                counted += name not in unheard
                if landed[name] is not FinishReason.ERROR or counted == maximum_attempts:
                    break
                attempt += 1
            else:
                places.append(EpisodePlace(seed, replicate, attempt))
    return places


def unheard_attempts(zone: LandingZone) -> frozenset[str]:
    """Return the ids of the episodes that ended because nobody answered at their endpoint."""
    errors = zone.scan("errors").filter(pl.col("error_type") == EndpointDownError.__name__)
    return frozenset(errors.select("episode_id").collect()["episode_id"])


def count_replicates(run: Run, zone: LandingZone, condition: Condition, instances: InstanceSetSpec) -> int:
    """Return how many replicates of a condition have landed on every instance, however their episodes ended."""
    landed = zone.landed_episodes(run.plan.digest)
    ids = [instance_id for _, instance_id in _instance_ids(instances)]
    count = 0
    while all(episode_id(condition, instance_id, run.plan.digest, count) in landed for instance_id in ids):
        count += 1
    return count


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


def _instance_ids(instances: InstanceSetSpec) -> list[tuple[int, str]]:
    spec = open_bucket(instances.bucket)
    return [(seed, sample_instance(spec, seed).instance_id) for seed in instances.seeds]
