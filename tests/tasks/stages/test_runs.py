import json
import shutil
from signal import SIGTERM

import pytest
from prefect.exceptions import TerminationSignal

from carryover.storage.zone.landing import LandingZone
from carryover.tasks.plans.overrides import Overrides
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.limits import LimitReachedError
from carryover.tasks.stages.runs import finished_runs, join_run, landed_plan, start_run
from carryover.tasks.traces.study_rows import RunRow

PLAN = resolve_plan("smoke", Overrides(train_count=2))


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """An empty data folder."""
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("CARRYOVER_LANDING", raising=False)
    return tmp_path / "data"


def rows(home, table):
    return LandingZone(home / "landing").read(table).to_pylist()


def end_with(error):
    with pytest.raises(type(error)), start_run("toy", PLAN, Limits()):
        raise error


def test_a_run_lands_its_plan_and_environment_before_any_work(home):
    with start_run("toy", PLAN, Limits()) as run:
        (row,) = rows(home, "runs")
        assert rows(home, "run_ends") == []
    assert (row["run_id"], row["flow"], row["plan_name"], row["scale"]) == (run.run_id, "toy", "smoke", "smoke")
    assert row["plan_digest"] == PLAN.digest
    assert landed_plan(run.run_id) == PLAN
    environment = json.loads(row["environment_json"])
    assert environment["packages"]["duckdb"]
    assert environment["source"] == row["source"] == PLAN.source


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (LimitReachedError("spent"), "stopped", "spent"),
        (RuntimeError("broken"), "failed", "RuntimeError: broken"),
        (KeyboardInterrupt(), "stopped", "interrupted from the keyboard"),
        (TerminationSignal(SIGTERM), "stopped", "ended by TerminationSignal"),
    ],
)
def test_a_run_lands_how_it_ended(home, error, status, message):
    end_with(error)
    (end,) = rows(home, "run_ends")
    assert (end["status"], end["message"]) == (status, message)


def test_finished_runs_of_flow_and_plan_come_earliest_first():
    end_with(RuntimeError("broken"))
    finished = []
    for flow, plan in (("toy", PLAN), ("other", PLAN), ("toy", resolve_plan("smoke")), ("toy", PLAN)):
        with start_run(flow, plan, Limits()) as run:
            finished.append(run.run_id)
    assert finished_runs("toy", "smoke") == [finished[0], finished[2], finished[3]]
    assert finished_runs("other", "smoke") == [finished[1]]
    assert finished_runs("other", "laptop") == []


def test_joining_flow_gets_the_resolved_plan_of_the_run(home):
    with start_run("toy", PLAN, Limits()) as run:
        with join_run("stage", run.run_id, Limits(max_tokens_total=5)) as joined:
            assert (joined.run_id, joined.plan, joined.limits.max_tokens_total) == (run.run_id, PLAN, 5)
            assert joined.cache_identity == run.cache_identity
        assert rows(home, "run_ends") == []
    assert len(rows(home, "runs")) == 1


def test_stage_in_another_process_is_a_run_of_its_own(home, monkeypatch):
    with start_run("toy", PLAN, Limits()) as run:
        monkeypatch.setattr("carryover.tasks.stages.runs.opened_here", set())
        with join_run("stage", run.run_id, Limits()) as joined:
            assert (joined.plan, joined.cache_identity) == (PLAN, run.cache_identity)
            assert joined.run_id != run.run_id
    flows = {row["flow"]: json.loads(row["environment_json"]).get("joined_run") for row in rows(home, "runs")}
    assert flows == {"toy": None, "stage": run.run_id}
    assert sorted(end["run_id"] for end in rows(home, "run_ends")) == sorted([run.run_id, joined.run_id])


def test_stage_of_another_source_is_refused_naming_both_sources(monkeypatch):
    with start_run("toy", PLAN, Limits()) as run:
        monkeypatch.setattr("carryover.tasks.stages.runs.current_source", lambda: "newer")
        expected = rf"run {run.run_id} is of source {PLAN.source}, and the source here is newer: check out .* start"
        with pytest.raises(UserError, match=expected), join_run("a", run.run_id, Limits()):
            pass
        with join_run("a", run.run_id, Limits(), is_of_plans_source=False) as joined:
            assert joined.run_id == run.run_id


def test_run_of_an_earlier_plan_records_the_present_source(home, monkeypatch):
    monkeypatch.setattr("carryover.tasks.stages.runs.current_source", lambda: "newer")
    with start_run("toy", PLAN, Limits()):
        (row,) = rows(home, "runs")
    assert json.loads(row["environment_json"])["source"] == "newer"
    assert json.loads(row["plan_json"])["source"] == PLAN.source


@pytest.mark.parametrize("change", [{"plan_json": "{}"}, {"plan_digest": "of-another-version"}])
def test_a_plan_of_another_version_is_refused_in_words(home, change):
    with start_run("toy", PLAN, Limits()):
        (row,) = rows(home, "runs")
    old = RunRow.model_validate({**row, "run_id": "old", **change})
    LandingZone(home / "landing").write({"runs": [old]}, "old")
    expected = f"the plan {old.plan_digest} of run old cannot be read by this version"
    with pytest.raises(UserError, match=expected):
        landed_plan("old")


def test_an_unknown_run_is_named_with_the_way_out():
    with (
        pytest.raises(UserError, match=r"no run 'nowhere' has landed in .*; leave run_id out to start one"),
        join_run("stage", "nowhere", Limits()),
    ):
        pass


def test_a_landing_zone_that_was_emptied_leaves_nothing_cached(home):
    identities = []
    for _ in range(2):
        with start_run("toy", PLAN, Limits()) as run:
            identities.append(run.generation)
        shutil.rmtree(home / "landing")
    assert identities[0] != identities[1]
    assert [file.name for file in home.iterdir()] == [".generation"]


def test_a_data_folder_has_an_identity_that_no_other_has(tmp_path, monkeypatch):
    identities = []
    for name in ("data", "data", "other"):
        monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path / name))
        with start_run("toy", PLAN, Limits()) as run:
            identities.append(run.generation)
    assert identities[0] == identities[1] != identities[2]
