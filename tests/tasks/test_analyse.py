"""A study's statistics, and what stops one whose merged tables break their checks."""

from types import SimpleNamespace
from typing import Any

import pytest

from carryover.storage.warehouse.merger import merge
from carryover.storage.zone.landing import LandingZone
from carryover.tasks import analyse
from carryover.tasks.analyse import check_warehouse, compute_study_statistics, update_statistics
from carryover.tasks.plans.identity import Stage
from carryover.tasks.plans.models import planned_groups
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits
from carryover.tasks.services.errors import UserError
from carryover.tasks.stages.runs import start_run
from carryover.tasks.traces.result_rows import CheckResultRow, StatisticRow
from tests.storage.conftest import build_episode, build_row


def test_a_broken_check_stops_the_study_and_has_landed(tmp_path, monkeypatch):
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path))
    monkeypatch.delenv("CARRYOVER_LANDING", raising=False)

    def judge(*_arguments, run_id, **_options):
        names = {"kept": 0, "episode_tokens_add_up": 3}
        return [
            build_row(
                CheckResultRow, run_id=run_id, check_name=name, is_passed=not broken_by, unexpected_count=broken_by
            )
            for name, broken_by in names.items()
        ]

    monkeypatch.setattr("carryover.tasks.analyse.gate_warehouse", judge)
    with (
        start_run("toy", resolve_plan("smoke"), Limits()) as run,
        pytest.raises(UserError, match="the merged tables break their checks: episode_tokens_add_up broken by 3; see "),
    ):
        check_warehouse.fn(run)
    landed = LandingZone(tmp_path / "landing").read("check_results")
    assert sorted(landed["check_name"].to_pylist()) == ["episode_tokens_add_up", "kept"]


@pytest.fixture
def analysed(tmp_path, monkeypatch):
    """A run of a plan with two episodes, merged beside another plan's."""
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path))
    monkeypatch.delenv("CARRYOVER_LANDING", raising=False)
    with start_run("toy", resolve_plan("smoke"), Limits()) as run:
        zone = LandingZone(run.landing)
        for name, plan in (("b", run.plan.digest), ("a", run.plan.digest), ("c", "other")):
            zone.write(build_episode(name, run.run_id, plan_digest=plan), run.run_id)
        merge(zone, run.folders.warehouse)
        yield run


def test_statistics_are_of_the_plans_episodes_as_planned(analysed, monkeypatch):
    seen = []
    row = build_row(StatisticRow, run_id=analysed.run_id)
    monkeypatch.setattr(analyse, "compute_statistics", lambda *given, **named: seen.append((given, named)) or [row])
    assert compute_study_statistics.fn(analysed) == 1
    (((episodes,), named),) = seen
    assert list(episodes["episode_id"]) == ["a", "b"]
    plan = analysed.plan
    assert named == {
        "plan_digest": plan.digest, "run_id": analysed.run_id, "spec": plan.statistics,
        "planned": planned_groups(plan), "open_bar": analyse.shown_progress,
    }  # fmt: skip
    zone = LandingZone(analysed.landing)
    assert zone.read("statistics").num_rows == 1
    assert zone.read("claims").num_rows > 20


def test_other_episodes_are_other_statistics(analysed):
    before = analyse._identify(analysed)
    assert analyse._identify(analysed) == before
    zone = LandingZone(analysed.landing)
    zone.write(build_episode("d", analysed.run_id, plan_digest="other"), analysed.run_id)
    merge(zone, analysed.folders.warehouse)
    assert analyse._identify(analysed) == before
    zone.write(build_episode("e", analysed.run_id, plan_digest=analysed.plan.digest), analysed.run_id)
    merge(zone, analysed.folders.warehouse)
    assert analyse._identify(analysed) != before


@pytest.mark.parametrize("is_there", [False, True])
def test_statistics_are_reused_where_the_plan_is_analysed(monkeypatch, is_there):
    asked = []
    monkeypatch.setattr(analyse, "is_analysed", lambda plan: (plan, is_there)[1])
    monkeypatch.setattr(analyse, "in_run", lambda *given, **named: asked.append((given, named)) or (lambda run: 5))
    run: Any = SimpleNamespace(plan="plan")
    assert update_statistics(run) == 5
    assert asked == [((compute_study_statistics, run, Stage.ANALYSIS), {"is_there": is_there})]


def test_passed_checks_are_counted(tmp_path, monkeypatch):
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path))
    monkeypatch.delenv("CARRYOVER_LANDING", raising=False)
    seen = []

    def judge(*given, run_id, **named):
        seen.append((given, {"run_id": run_id, **named}))
        return [build_row(CheckResultRow, run_id=run_id, check_name=name, is_passed=True) for name in ("a", "b")]

    monkeypatch.setattr(analyse, "gate_warehouse", judge)
    with start_run("toy", resolve_plan("smoke"), Limits()) as run:
        assert check_warehouse.fn(run) == 2
    places = (run.folders.warehouse, run.folders.documents / "warehouse_docs")
    named = {"run_id": run.run_id, "plan_digest": run.plan.digest, "open_bar": analyse.progress_bar}
    assert seen == [(places, named)]
