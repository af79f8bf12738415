from contextlib import nullcontext
from pathlib import Path

import pytest

from carryover.flows import reproduce_study as flow_module
from carryover.flows.analyse_study import analyse_study
from carryover.flows.reproduce_study import answer_study, is_answered, reproduce_study
from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.analysis.statistic_rows import StatisticGroup
from carryover.tasks.plans.identity import Stage
from carryover.tasks.plans.overrides import Overrides
from carryover.tasks.plans.preflight import training_needs
from carryover.tasks.plans.presets import PlanName
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits, Run
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


STAGES = (
    "generate_instances", "collect_traces", "prepare_training", "train_models", "reinforce_models", "evaluate_models",
    "analyse_study",
)  # fmt: skip
NO_LIMITS = Limits()
SHOWN = ("print_study", "show_study", "merge_landing", "train_on_gpu_pool", "print_estimate")


def study_run(plan, limits):
    return Run(run_id="r", plan=plan, home=Path("/data"), landing="/data/landing", generation="g", limits=limits)


@pytest.fixture
def play(steps):
    """Run the study with other steps than its own; return their calls."""

    def run(scale: PlanName = "smoke", limits=NO_LIMITS, *, is_to_be_played=True, is_answered=False, **settings):
        calls = steps(
            flow_module,
            is_to_be_played=is_to_be_played,
            is_answered=is_answered,
            start_run=lambda flow, plan, limits: nullcontext(study_run(plan, limits)),
            **dict.fromkeys((*STAGES, *SHOWN)),
        )
        reproduce_study.fn(scale, limits=limits, **settings)
        return [call for call in calls if call[0] not in ("is_to_be_played", "is_answered")]

    return run


def test_a_study_runs_its_stages_as_one_run(play):
    limits = Limits(max_tokens_total=7)
    plan = resolve_plan("smoke")
    stages = [stage for stage in STAGES if stage != "reinforce_models"]
    assert play(limits=limits) == [
        ("start_run", "reproduce_study", plan, limits),
        *((stage, {"limits": limits, "run_id": "r"}) for stage in stages),
        ("merge_landing", study_run(plan, limits)),
        ("print_study", plan),
        ("show_study", plan),
    ]


def test_a_plan_of_reinforcements_reinforces_before_it_evaluates(play):
    assert [call[0] for call in play("smoke_rl")[1:-3]] == list(STAGES)


def test_a_pool_gets_the_limits_that_concern_training(play):
    limits = Limits(refresh=(Stage.TRAINING, Stage.DATA), gpus_per_training=2)
    plan = resolve_plan("smoke")
    calls = play(limits=limits, train_on="gpu_pool")
    run = study_run(plan, limits)
    shown = {"refresh": ["training"], "gpus_per_training": 2}
    assert calls[4] == (
        "train_on_gpu_pool",
        {"limits": shown, "run_id": "r"},
        run.folders,
        training_needs(plan, limits),
    )
    assert "train_models" not in [call[0] for call in calls]
    unrefreshed = play(limits=Limits(refresh=(Stage.DATA,)), train_on="gpu_pool")
    assert unrefreshed[4][1] == {"limits": {}, "run_id": "r"}


def test_a_finished_study_is_analysed_anew_and_shown(play):
    plan = resolve_plan("smoke")
    few = Overrides(train_count=3)
    assert play(is_to_be_played=False) == [
        ("analyse_study", "smoke", Overrides(), Limits()),
        ("print_study", plan),
        ("show_study", plan),
    ]
    assert play(is_to_be_played=False, overrides=few)[0] == ("analyse_study", "smoke", few, Limits())


def test_an_answered_study_is_shown_but_no_estimate(play):
    assert play(is_answered=True) == [("show_study", resolve_plan("smoke"))]
    assert play(is_answered=True, dry_run=True) == []


def test_needs_are_checked_where_the_study_trains(steps):
    plan = resolve_plan("smoke")
    calls = steps(flow_module, is_to_be_played=True, load_keys=None, check_needs=None)
    assert not is_answered(plan, Limits(gpus_per_training=2), "gpu_pool", dry_run=False)
    assert not is_answered(plan, Limits(), dry_run=False)
    lacks = flow_module.gpu_pool_lacks
    assert calls == [
        ("is_to_be_played", plan, Limits(gpus_per_training=2)),
        ("load_keys", plan),
        ("check_needs", plan, lacks, {"trains_here": False, "limits": Limits(gpus_per_training=2)}),
        ("is_to_be_played", plan, Limits()),
        ("load_keys", plan),
        ("check_needs", plan, lacks, {"trains_here": True, "limits": Limits()}),
    ]


def test_a_dry_run_prints_an_estimate_alone(steps):
    plan = resolve_plan("smoke")
    calls = steps(flow_module, print_estimate=None, is_to_be_played=True)
    assert is_answered(plan, Limits(), dry_run=True)
    assert calls == [("print_estimate", plan, Limits())]


def test_a_refreshed_stage_is_played_though_the_plan_finished(steps):
    steps(flow_module, is_finished=True)
    plan = resolve_plan("smoke")
    assert flow_module.is_to_be_played(plan, Limits(refresh=(Stage.DATA,)))
    assert not flow_module.is_to_be_played(plan, Limits())
    steps(flow_module, is_finished=False)
    assert flow_module.is_to_be_played(plan, Limits())
