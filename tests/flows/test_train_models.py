from types import SimpleNamespace

import pytest

from carryover.flows import train_models as flow_module
from carryover.flows.train_models import train_models
from carryover.tasks.plans.models import training_name
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits
from carryover.tasks.services.errors import UserError


def test_missing_data_are_said_before_anything_is_trained(tmp_path, monkeypatch):
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path))
    with pytest.raises(
        UserError, match=r"no training data of plan laptop in .*; run `carryover stage prepare-training` first"
    ):
        train_models.fn(scale="laptop")
    assert not (tmp_path / "datasets").exists()
    assert not (tmp_path / "models").exists()


def planned(run, part, contract, seed, tokenizer):
    assert tokenizer == f"tokenizer of {part.variant}"
    return SimpleNamespace(job=SimpleNamespace(output=training_name(part, contract, seed)))


def test_a_base_is_trained_before_the_models_on_it(steps, own_home):
    calls = steps(
        flow_module,
        check_machine=None,
        read_training_data=None,
        unknown_sizes=["a base of unknown size"],
        say=None,
        open_tokenizer=lambda run, part: f"tokenizer of {part.variant}",
        plan_training=planned,
        trainings_at_once=3,
        this_machine="this machine",
        play_side_by_side=None,
    )
    plan = resolve_plan("laptop_full")
    train_models.fn("laptop_full", limits=Limits(gpus_per_training=2))

    before = [call for call in calls if call[0] in ("check_machine", "read_training_data", "unknown_sizes", "say")]
    assert before == calls[: len(before)]  # before a tokenizer or a base is trained for hours
    assert before[0] == ("check_machine", plan, Limits(gpus_per_training=2))
    assert [part for _, _, part in before[1:-2]] == list(plan.parts)
    assert before[-2:] == [("unknown_sizes", plan.parts), ("say", "a base of unknown size")]

    bases = {}
    models = {}
    for part in plan.parts:
        if part.own_base is not None:
            bases[training_name(part, None, part.own_base.seed)] = None
        for seed in part.training_seeds:
            models |= dict.fromkeys(training_name(part, contract, seed) for contract in part.teacher.contracts)
    assert (len(bases), len(models)) == (4, 68)  # each once, where 47 parts have 11 bases and 72 models
    played = [call for call in calls if call[0] == "play_side_by_side"]
    submitted = [[training.job.output for training in call[2]] for call in played]
    assert submitted == [list(bases), list(models)]  # the models of all parts side by side
    assert {call[3:] for call in played} == {(3, flow_module.submit_training, flow_module.note_training)}
    (machine,) = {call[3] for call in calls if call[0] == "trainings_at_once"}
    assert machine == "this machine"


def test_without_a_base_of_its_own_no_gpu_is_looked_for(steps, own_home):
    calls = steps(
        flow_module,
        check_machine=None,
        read_training_data=None,
        unknown_sizes=[],
        open_tokenizer=lambda run, part: f"tokenizer of {part.variant}",
        plan_training=planned,
        trainings_at_once=1,
        this_machine="this machine",
        play_side_by_side=None,
    )
    train_models.fn("smoke")
    assert [call[0] for call in calls][-4:] == [
        "plan_training",
        "this_machine",
        "trainings_at_once",
        "play_side_by_side",
    ]
    assert [call[0] for call in calls].count("this_machine") == 1
