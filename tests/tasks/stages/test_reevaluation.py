"""A re-evaluation takes the study that it is about."""

import json
from datetime import UTC, datetime

import pytest

from carryover.storage.zone.landing import LandingZone
from carryover.tasks.plans.overrides import Overrides
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.folders import name_folders
from carryover.tasks.stages.runs import NoStudyError, choose_study, landed_plan, start_run
from carryover.tasks.traces.study_rows import RunEndRow, RunRow

SMOKE = resolve_plan("smoke")
SMALLER = resolve_plan("smoke", Overrides(evaluation_count=2))
EARLIER = SMOKE.model_copy(update={"source": "earlier"})


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """An empty data folder."""
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("CARRYOVER_LANDING", raising=False)


def finish(plan, flow="reproduce_study"):
    with start_run(flow, plan, Limits()) as run:
        return run.run_id


def test_latest_study_of_the_preset_is_taken_whatever_its_source():
    finish(SMOKE)
    latest = finish(EARLIER)
    finish(SMALLER)
    finish(SMOKE, "collect_traces")
    assert choose_study(resolve_plan("smoke")) == latest


def test_study_with_overrides_is_taken_without_another():
    finish(SMALLER)
    latest = finish(SMALLER)
    assert choose_study(resolve_plan("smoke")) == latest


def land_of_another_version(run_id):
    """Land a finished study whose plan has a field that is unknown here."""
    zone = LandingZone(name_folders().landing)
    row = RunRow(
        run_id=run_id,
        flow="reproduce_study",
        plan_name="smoke",
        plan_digest="of-another-version",
        scale="smoke",
        plan_json=json.dumps(SMOKE.model_dump(mode="json") | {"pace": "slow"}),
        environment_json="{}",
        started_at=datetime.now(UTC),
    )
    end = RunEndRow(run_id=run_id, status="finished", message="", finished_at=datetime.now(UTC))
    zone.write({"runs": [row], "run_ends": [end]}, run_id)


def test_study_of_another_version_is_refused_with_way_out():
    finish(SMALLER)
    land_of_another_version("old")
    with pytest.raises(UserError, match=r"of run old cannot be read by this version; run the study anew"):
        landed_plan(choose_study(resolve_plan("smoke")))
    latest = finish(SMOKE)
    land_of_another_version("older")
    assert choose_study(resolve_plan("smoke")) == latest


def test_a_scale_without_a_finished_study_is_said():
    finish(SMOKE)
    with pytest.raises(NoStudyError, match=r"no finished study of scale 'laptop' to evaluate again; `carryover run"):
        choose_study(resolve_plan("laptop"))
