"""A comparison of arms: its run, the episodes that are still to be played, and its statistics."""

import pytest

from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.cave.arms.plan import SuitePlan
from carryover.tasks.cave.arms.play import episode_id
from carryover.tasks.services.folders import open_folders
from carryover.tasks.stages.comparisons import merge_comparison, missing_case_episodes, open_comparison
from tests.storage.conftest import build_episode

PLAN = SuitePlan(case_limit=2, replicates=2)


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """An empty data folder."""
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("CARRYOVER_LANDING", raising=False)


def zone():
    return LandingZone(open_folders().landing)


def missing():
    return missing_case_episodes(PLAN, "token_efficiency", "json")


def places(episodes):
    return [(each.case.case_id, each.replicate, each.attempt) for each in episodes]


def land(episode, finish_reason):
    name = episode_id(episode, PLAN.digest, PLAN.instruction)
    zone().write(build_episode(name, plan_digest=PLAN.digest, finish_reason=finish_reason), "run")


def test_every_replicate_of_the_sampled_cases_is_to_be_played():
    found = missing()
    assert {(each.arm, each.attempt) for each in found} == {("json", 0)}
    assert [each.replicate for each in found] == [0, 1, 0, 1]
    assert len({each.case.case_id for each in found}) == 2


def test_ended_episodes_stay_and_errors_are_tried_anew():
    first, second, *others = missing()
    land(first, "answer")
    land(second, "error")
    land(second._replace(attempt=1), "error")
    assert places(missing()) == places([second._replace(attempt=2), *others])


def test_a_comparison_lands_its_plan_and_its_end():
    with open_comparison(PLAN) as run_id:
        assert zone().read("run_ends").num_rows == 0
    (run,) = zone().read("runs").to_pylist()
    (end,) = zone().read("run_ends").to_pylist()
    assert (run["run_id"], end["run_id"], end["status"]) == (run_id, run_id, "finished")
    assert (run["flow"], run["plan_digest"], run["scale"]) == ("compare_arms", PLAN.digest, PLAN.scale)
    assert SuitePlan.model_validate_json(run["plan_json"]) == PLAN


def test_statistics_and_claims_of_a_comparison_are_merged():
    with open_comparison(PLAN) as run_id:
        merge_comparison(run_id)
    with Warehouse.open(open_folders().warehouse) as warehouse:
        claims = warehouse.sql("select distinct run_id from claims").rows()
    assert claims == [(run_id,)]
