from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from carryover.flows import reproduce_study as flow_module
from carryover.flows.analyse_study import analyse_study
from carryover.flows.reproduce_study import answer_study, check_study, due_work, reproduce_study
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

START: dict[str, Any] = {
    "scale": "smoke", "overrides": Overrides(), "limits": Limits(), "train_on": "here", "dry_run": False,
}  # fmt: skip
"""Parameters of the flow, as a command gives them."""


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path))
    monkeypatch.delenv("CARRYOVER_LANDING", raising=False)


def test_next_start_merges_a_run_killed_before_its_merge(capsys):
    with start_run("reproduce_study", resolve_plan("smoke"), Limits()):
        pass
    assert not name_folders().warehouse.exists()

    assert answer_study(START)

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
    assert not answer_study(START)
    assert due_work(plan, Limits(), dry_run=False) == "analysis"
    assert capsys.readouterr().out == ""


class StoppedThereError(Exception):
    """Ends a study at its first step."""


def stop_there(*_arguments):
    raise StoppedThereError


def test_needs_are_checked_before_a_server_and_before_a_run(steps):
    calls = steps(flow_module, load_keys=None, check_needs=None, start_run=stop_there)
    plan = resolve_plan("smoke")
    assert not answer_study({**START, "train_on": "gpu_pool"})
    with pytest.raises(StoppedThereError):
        reproduce_study.fn(**START)
    lacks = flow_module.gpu_pool_lacks
    checked = [("load_keys", plan), ("check_needs", plan, lacks, {"trains_here": False, "limits": Limits()})]
    checked += [("load_keys", plan), ("check_needs", plan, lacks, {"trains_here": True, "limits": Limits()})]
    assert calls == [*checked, ("start_run", "reproduce_study", plan, Limits())]


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
SHOWN = (
    "print_study", "show_study", "merge_landing", "report_unmerged", "_merge_landed", "train_on_gpu_pool",
    "print_estimate",
)  # fmt: skip


def study_run(plan, limits):
    return Run(run_id="r", plan=plan, home=Path("/data"), landing="/data/landing", generation="g", limits=limits)


@pytest.fixture
def play(steps):
    """Run the study with other steps than its own; return their calls."""

    def run(scale: PlanName = "smoke", limits=NO_LIMITS, *, due="play", **settings):
        calls = steps(
            flow_module,
            due_work=due,
            check_study=None,
            start_run=lambda flow, plan, limits: nullcontext(study_run(plan, limits)),
            **dict.fromkeys((*STAGES, *SHOWN)),
        )
        reproduce_study.fn(scale, limits=limits, **settings)
        return [call for call in calls if call[0] not in ("due_work", "check_study")]

    return run


def test_a_study_runs_its_stages_as_one_run(play):
    limits = Limits(max_tokens_total=7)
    plan = resolve_plan("smoke")
    stages = [stage for stage in STAGES if stage != "reinforce_models"]
    assert play(limits=limits) == [
        ("start_run", "reproduce_study", plan, limits),
        *((stage, {"limits": limits, "run_id": "r"}) for stage in stages),
        ("merge_landing", study_run(plan, limits)),
        ("report_unmerged", None),
        ("print_study", plan),
        ("show_study", plan),
    ]


def test_a_plan_of_reinforcements_reinforces_before_it_evaluates(play):
    assert [call[0] for call in play("smoke_rl")[1:-4]] == list(STAGES)


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
    assert play(due="analysis") == [
        ("analyse_study", "smoke", Overrides(), Limits()),
        ("print_study", plan),
        ("show_study", plan),
    ]
    assert play(due="analysis", overrides=few)[0] == ("analyse_study", "smoke", few, Limits())


def test_a_study_without_due_work_is_merged_printed_and_shown(play):
    plan = resolve_plan("smoke")
    assert play(due="nothing") == [("_merge_landed",), ("print_study", plan), ("show_study", plan)]


def test_a_merge_of_a_study_without_due_work_tells_what_it_left_out(steps, own_home):
    calls = steps(flow_module, merge="merged", report_unmerged=None)
    flow_module._merge_landed()
    assert calls[1:] == [("report_unmerged", "merged")]


def test_a_dry_run_prints_an_estimate_alone(play, steps):
    plan = resolve_plan("smoke")
    assert play(due="estimate") == [("print_estimate", plan, Limits())]
    calls = steps(flow_module, print_estimate=None, is_finished=False)
    assert answer_study({**START, "dry_run": True})
    assert calls == [("print_estimate", plan, Limits())]


def test_a_study_checks_its_limits_needs(steps):
    calls = steps(flow_module, load_keys=None, check_needs=None)
    plan, limits = resolve_plan("smoke"), Limits(gpus_per_training=2)
    check_study(plan, limits, "gpu_pool")
    told = {"trains_here": False, "limits": limits}
    assert calls == [("load_keys", plan), ("check_needs", plan, flow_module.gpu_pool_lacks, told)]


@pytest.mark.parametrize(
    ("is_finished", "is_analysed", "limits", "due"),
    [
        (True, True, Limits(), "nothing"),
        (True, False, Limits(), "analysis"),
        (False, True, Limits(), "play"),
        (True, True, Limits(refresh=(Stage.DATA,)), "play"),
    ],
)
def test_an_unfinished_or_refreshed_plan_is_played(steps, is_finished, is_analysed, limits, due):
    steps(flow_module, is_finished=is_finished, is_analysed=is_analysed)
    plan = resolve_plan("smoke")
    assert due_work(plan, limits, dry_run=False) == due
    assert due_work(plan, limits, dry_run=True) == "estimate"
