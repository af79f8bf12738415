"""Which episodes of a cell are missing, on the instances that have landed."""

import pytest

from carryover.storage.zone.landing import LandingZone
from carryover.tasks.agent.client import ScriptedClientSpec
from carryover.tasks.agent.condition import Condition
from carryover.tasks.agent.episode_spec import EpisodeSpec
from carryover.tasks.families.choose import choose_family
from carryover.tasks.knapsack.family import KNAPSACK_FAMILY
from carryover.tasks.knapsack.instance import instance_rows
from carryover.tasks.knapsack.knapsack_spec import open_bucket
from carryover.tasks.knapsack.sampling import sample_instance
from carryover.tasks.plans.identity import Stage
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits
from carryover.tasks.plans.shards import ShardSpec
from carryover.tasks.plans.study_plan import InstanceSetSpec
from carryover.tasks.services.errors import UserError
from carryover.tasks.stages.attempts import EpisodePlace, landed_episode_ids, missing_episodes
from carryover.tasks.stages.runs import start_run
from carryover.tasks.stages.stage_results import instance_ids, note_instances, read_instances
from carryover.tasks.traces.rows import ErrorRow, Row
from carryover.tasks.traces.vocabulary import ContractName, FinishReason
from tests.storage.conftest import build_row

PLAN = resolve_plan("smoke")
INSTANCES = InstanceSetSpec(bucket="small", split="evaluation", count=2, first_seed=7)
SAMPLED = [sample_instance(open_bucket("small"), seed) for seed in INSTANCES.seeds]
CELL = Condition(
    purpose="evaluation",
    model_name="persistent-0",
    runtime_contract=ContractName.STATELESS,
    bucket="small",
    split="evaluation",
)
SHARD = ShardSpec(
    stage=Stage.EVALUATION,
    stage_digest="stage",
    condition=CELL,
    instances=INSTANCES,
    episode=EpisodeSpec(),
    client=ScriptedClientSpec(),
)


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("CARRYOVER_LANDING", raising=False)
    with start_run("toy", PLAN, Limits()) as opened:
        yield opened


@pytest.fixture
def zone(run):
    return LandingZone(run.landing)


@pytest.fixture
def play(zone, make_episode):
    """A function that lands the attempt at one instance of the cell."""

    def land(instance, replicate, reason=FinishReason.FINISH_TOOL, *, attempt=0, error_type=None):
        name = SHARD.episode_id(instance.instance_id, replicate, attempt)
        (row,) = make_episode(name)["episodes"]
        rows: dict[str, list[Row]] = {
            "episodes": [row.model_copy(update={"plan_digest": PLAN.digest, "finish_reason": reason})]
        }
        if error_type is not None:
            rows["errors"] = [build_row(ErrorRow, run_id="run", episode_id=name, error_type=error_type)]
        zone.write(rows, "run")

    return land


def test_what_failed_or_was_not_played_is_missing_by_replicate(run, zone, play):
    land(run, zone)
    for instance, replicate, reason in (
        (SAMPLED[0], 0, FinishReason.FINISH_TOOL),
        (SAMPLED[1], 0, FinishReason.ERROR),
        (SAMPLED[0], 1, FinishReason.FINISH_TOOL),
    ):
        play(instance, replicate, reason)
    failed = SAMPLED[1].instance_id
    assert missing_episodes(run, zone, SHARD.model_copy(update={"replicates": 2})) == [
        EpisodePlace(failed, 0, 1),
        EpisodePlace(failed, 1, 0),
    ]
    assert missing_episodes(run, zone, SHARD.model_copy(update={"first_replicate": 1})) == [EpisodePlace(failed, 1, 0)]
    again = [EpisodePlace(SAMPLED[0].instance_id, 0, 1), EpisodePlace(failed, 0, 1)]
    assert missing_episodes(run, zone, SHARD, plays_again=True) == again


@pytest.mark.parametrize(("maximum", "is_missing"), [(1, False), (2, False), (3, True), (None, True)])
def test_an_episode_is_given_up_after_its_most_attempts(run, zone, play, maximum, is_missing):
    land(run, zone)
    failed, done = SAMPLED
    play(done, 0)
    for attempt in range(2):
        play(failed, 0, FinishReason.ERROR, attempt=attempt, error_type="ModelError")
    missing = missing_episodes(run, zone, SHARD.model_copy(update={"maximum_attempts": maximum}))
    assert missing == ([EpisodePlace(failed.instance_id, 0, 2)] if is_missing else [])


def test_an_attempt_at_an_endpoint_that_was_down_is_none(run, zone, play):
    land(run, zone)
    failed, done = SAMPLED
    play(done, 0)
    play(failed, 0, FinishReason.ERROR, attempt=0, error_type="EndpointDownError")
    play(failed, 0, FinishReason.ERROR, attempt=1, error_type="ModelError")
    limited = {
        most: missing_episodes(run, zone, SHARD.model_copy(update={"maximum_attempts": most})) for most in (1, 2)
    }
    assert limited == {1: [], 2: [EpisodePlace(failed.instance_id, 0, 2)]}


def test_every_landed_attempt_is_listed_in_order(run, zone, play):
    land(run, zone)
    first, second = SAMPLED
    play(second, 0)
    play(first, 1, FinishReason.ERROR, attempt=0)
    play(first, 1, attempt=1)
    shard = SHARD.model_copy(update={"replicates": 2})
    places = [(first.instance_id, 1, 0), (first.instance_id, 1, 1), (second.instance_id, 0, 0)]
    assert landed_episode_ids(run, zone, shard) == [SHARD.episode_id(*place) for place in places]


def test_an_instance_without_items_is_read(run, zone):
    family = choose_family("map_exploration")
    instance = family.sample("near", 3)
    row, items = family.rows(instance, run.run_id, "evaluation")
    zone.write({"instances": [row], "items": items}, run.run_id)
    assert items == []
    assert list(read_instances(zone, family, [row.instance_id])) == [instance]


def test_episode_replayed_by_the_run_is_not_played_again(run, zone, play, make_episode):
    land(run, zone)
    for instance in SAMPLED:
        play(instance, 0)
    first, second = (instance.instance_id for instance in SAMPLED)
    (row,) = make_episode(SHARD.episode_id(first, 0, 1), run.run_id)["episodes"]
    zone.write({"episodes": [row.model_copy(update={"plan_digest": PLAN.digest})]}, run.run_id)
    assert missing_episodes(run, zone, SHARD, plays_again=True) == [EpisodePlace(second, 0, 1)]


def test_instances_are_read_as_stage_1_landed_them(run, zone):
    with pytest.raises(
        UserError, match=r"no instances of bucket small .*run `carryover stage generate-instances` first"
    ):
        instance_ids(run, zone, INSTANCES)
    land(run, zone)
    ids = instance_ids(run, zone, INSTANCES)
    assert list(read_instances(zone, KNAPSACK_FAMILY, [*reversed(ids), ids[0]])) == [*reversed(SAMPLED), SAMPLED[0]]


def land(run, zone):
    for instance in SAMPLED:
        row, items = instance_rows(instance, run.run_id, "evaluation")
        zone.write({"instances": [row], "items": items}, run.run_id)
    note_instances(run, INSTANCES, [instance.instance_id for instance in SAMPLED])
