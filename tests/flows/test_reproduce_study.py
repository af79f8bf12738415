import pytest

from carryover.flows.analyse_study import analyse_study
from carryover.flows.reproduce_study import answer_study, is_answered, reproduce_study
from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.analysis.statistic_rows import StatisticGroup
from carryover.tasks.plans.overrides import Overrides
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.folders import name_folders
from carryover.tasks.stages.runs import start_run


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path))
    monkeypatch.delenv("CARRYOVER_LANDING", raising=False)


def test_next_start_merges_a_run_killed_before_its_merge(capsys):
    with start_run("reproduce_study", resolve_plan("smoke"), Limits()):
        pass
    assert not name_folders().warehouse.exists()

    assert is_answered(resolve_plan("smoke"), Limits(), dry_run=False)

    with Warehouse.open(name_folders().warehouse) as warehouse:
        assert warehouse.sql("select status from run_ends").rows() == [("finished",)]
    printed = capsys.readouterr().out
    assert "smoke: numbers without meaning" in printed
    assert "smoke ends every episode after 4 replies, so few finish or score" in printed


def test_finished_study_with_changed_analysis_is_no_answer(monkeypatch, capsys):
    plan = resolve_plan("smoke")
    with monkeypatch.context() as earlier:
        earlier.setattr("carryover.tasks.stages.runs.analysis_source", lambda: "earlier")
        with start_run("reproduce_study", plan, Limits()) as run:
            group = StatisticGroup(run.run_id, plan.digest, "main", "scratch", "declared", "names", "small")
            row = group.row("mean", "cell", "score", pair_count=1, method="mean")
            LandingZone(run.landing).write({"statistics": [row]}, run.run_id)
    assert not is_answered(resolve_plan("smoke"), Limits(), dry_run=False)
    assert capsys.readouterr().out == ""


class StoppedThereError(Exception):
    """Ends a study at its first step."""


def stop_there(*_arguments):
    raise StoppedThereError


def test_a_command_checks_the_needs_of_a_study_once(monkeypatch):
    checked = []
    monkeypatch.setattr("carryover.flows.reproduce_study.check_needs", lambda plan, *_, **__: checked.append(plan.name))
    monkeypatch.setattr("carryover.flows.reproduce_study.start_run", stop_there)
    start = {
        "scale": "smoke", "overrides": Overrides(), "limits": Limits(), "train_on": "here", "dry_run": False,
    }  # fmt: skip
    assert not answer_study(start)
    with pytest.raises(StoppedThereError):
        reproduce_study.fn(**start)
    assert checked == ["smoke"]
    with pytest.raises(StoppedThereError):
        reproduce_study.fn(**start)
    assert checked == ["smoke", "smoke"]


def test_a_stage_that_joins_a_run_takes_no_other_plan():
    with start_run("reproduce_study", resolve_plan("smoke"), Limits()) as run:
        refusal = f"run {run.run_id} has a plan already; leave scale and overrides out"
        with pytest.raises(UserError, match=refusal):
            analyse_study.fn("laptop", run_id=run.run_id)
        with pytest.raises(UserError, match=refusal):
            analyse_study.fn(overrides=Overrides(train_count=1), run_id=run.run_id)
