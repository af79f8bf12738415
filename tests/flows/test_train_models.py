from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from carryover.flows import train_models as flow_module
from carryover.flows.train_models import train_models
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits, Run
from carryover.tasks.services.errors import UserError


def test_missing_data_are_said_before_anything_is_trained(tmp_path, monkeypatch):
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path))
    with pytest.raises(
        UserError, match=r"no training data of plan laptop in .*; run `carryover stage prepare-training` first"
    ):
        train_models.fn(scale="laptop")
    assert not (tmp_path / "datasets").exists()
    assert not (tmp_path / "models").exists()


def test_a_base_is_trained_before_the_models_on_it(steps, own_home):
    calls = steps(
        flow_module,
        check_machine=None,
        read_training_data=None,
        unknown_sizes=["a base of unknown size"],
        say=None,
        open_tokenizer=lambda run, part: f"tokenizer of {part.variant}",
        plan_training=lambda run, part, contract, seed, tokenizer: (part.base, contract, seed, tokenizer),
        side_by_side=lambda run, trainings, machine: [trainings],
        this_machine="this machine",
        submit_training=lambda run, training: SimpleNamespace(result=lambda: f"model of {training}"),
        interruptible=lambda run_id, futures: nullcontext(),
        note_training=None,
    )
    plan = resolve_plan("laptop_full")
    train_models.fn("laptop_full", limits=Limits(gpus_per_training=2))

    before = [call for call in calls if call[0] in ("check_machine", "read_training_data", "unknown_sizes", "say")]
    assert before == calls[: len(before)]  # before a tokenizer or a base is trained for hours
    assert before[0] == ("check_machine", plan, Limits(gpus_per_training=2))
    assert [part for _, _, part in before[1:-2]] == list(plan.parts)
    assert before[-2:] == [("unknown_sizes", plan.parts), ("say", "a base of unknown size")]

    expected = []
    for part in plan.parts:
        tokenizer = f"tokenizer of {part.variant}"
        if part.own_base is not None:
            expected.append((part.base, None, part.own_base.seed, tokenizer))
        for seed in part.training_seeds:
            expected += [(part.base, contract, seed, tokenizer) for contract in part.teacher.contracts]
    noted = [call[2:] for call in calls if call[0] == "note_training"]
    assert noted == [(each, f"model of {each}") for each in expected]
    (machine,) = {call[3] for call in calls if call[0] == "side_by_side"}
    assert machine == "this machine"


def test_trainings_of_a_group_are_submitted_before_one_is_awaited(steps, own_home):
    calls = steps(
        flow_module,
        side_by_side=lambda run, trainings, machine: [trainings[:2], trainings[2:]],
        submit_training=lambda run, training: SimpleNamespace(result=lambda: f"model of {training}"),
        interruptible=lambda run_id, futures: nullcontext(),
        note_training=None,
    )
    run = Run(run_id="r", plan=resolve_plan("smoke"), home=own_home, landing="/landing", generation="g")
    trainings: Any = ["a", "b", "c"]
    flow_module._train(run, trainings)
    (first, second) = [call for call in calls if call[0] == "interruptible"]
    assert (first[1], len(first[2]), len(second[2])) == ("r", 2, 1)
    assert [call[0] for call in calls[1:]] == [
        *("submit_training", "submit_training", "interruptible", "note_training", "note_training"),
        *("submit_training", "interruptible", "note_training"),
    ]
