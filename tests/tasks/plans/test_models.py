"""Which models and cells an evaluation takes."""

from itertools import chain, product
from pathlib import Path

import pytest

from carryover.tasks.agent.condition import Condition
from carryover.tasks.plans.models import (
    ALL_CELLS,
    ChosenCells,
    StudyModel,
    evaluation_conditions,
    model_name,
    named_cells,
    planned_groups,
    script_conditions,
    served_models,
)
from carryover.tasks.plans.presets import PLANS
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.traces.vocabulary import ContractName


def make_model(name, contract=None):
    return StudyModel(
        identity=name,
        name=name,
        kind="checkpoint" if contract else "base",
        path=name,
        digest=None,
        train_contract=contract,
        training_seed=0 if contract else None,
    )


MODELS = [make_model("base"), make_model("persistent-0", "persistent"), make_model("stateless-0", "stateless")]


def make_condition(model, contract):
    return Condition(
        purpose="evaluation",
        model_name=model,
        runtime_contract=contract,
        bucket="small",
        split="evaluation",
        is_out_of_distribution=False,
    )


def test_every_cell_of_a_study_is_a_cross_evaluation():
    assert ALL_CELLS.may_cross
    assert ALL_CELLS.served(MODELS) == MODELS
    assert all(
        ALL_CELLS.holds(make_condition(model.name, contract)) for model, contract in product(MODELS, ContractName)
    )


def test_the_commit_of_a_base_reaches_the_server():
    pinned = MODELS[0].model_copy(update={"revision": "b968826"})
    assert [served_models([base, *MODELS[1:]]).base_revision for base in (MODELS[0], pinned)] == [None, "b968826"]


def test_adapters_and_checkpoints_are_served_apart():
    adapter = MODELS[1].model_copy(update={"kind": "adapter"})
    served = served_models([MODELS[0], adapter, MODELS[2]])
    assert (served.base, served.base_name) == ("base", "base")
    assert (served.adapters, served.checkpoints) == (
        {"persistent-0": Path("persistent-0")}, {"stateless-0": Path("stateless-0")},
    )  # fmt: skip


@pytest.mark.parametrize("choice", [{"model": "persistent-0"}, {"runtime_contract": "stateless"}])
def test_chosen_cells_cross_contracts_only_on_request(choice):
    assert not ChosenCells(**choice).may_cross
    assert ChosenCells(**choice, is_cross_evaluation=True).may_cross


def test_a_chosen_model_is_served_with_the_base():
    cells = ChosenCells(model="persistent-0", runtime_contract=ContractName.PERSISTENT)
    assert [model.name for model in cells.served(MODELS)] == ["base", "persistent-0"]
    held = [
        (model.name, contract)
        for model, contract in product([*MODELS, make_model("scripted")], ("persistent", "stateless"))
        if cells.holds(make_condition(model.name, contract))
    ]
    assert held == [("persistent-0", "persistent")]


def test_a_trained_model_is_named_by_its_contract_and_seed():
    assert model_name("recent-1", 3) == "recent-1-3"


def test_the_cells_of_a_part_are_named_as_its_conditions():
    (part,) = resolve_plan("laptop").parts
    conditions = chain.from_iterable(evaluation_conditions(part, each, MODELS) for each in part.evaluations)
    named = named_cells(part)
    assert named == [(one.model_name, one.runtime_contract) for one in conditions]
    assert len(named) == 6


def test_families_of_a_plan_are_those_of_its_evaluations():
    groups = planned_groups(resolve_plan("laptop_full"))
    main, shuffled, again = (
        groups[variant, "scratch", "declared", "names", "small"] for variant in ("main", "shuffled-labels", "a-a")
    )
    assert (len(main.arms), main.replicates) == (6, 1)
    assert {arm.train for arm in shuffled.arms} <= {"persistent", "stateless", None}
    assert again.replicates == 6


def test_each_script_plays_under_each_runtime_beside_the_models():
    plan = resolve_plan("laptop")
    (part,) = plan.parts
    played, untrained = (list(script_conditions(part, evaluation)) for evaluation in part.evaluations)
    assert untrained == []
    assert [(one.train_contract, one.runtime_contract, one.base) for one in played] == [
        (script, runtime, "teacher") for script, runtime in product(("persistent", "stateless"), repeat=2)
    ]
    assert len({one.model_name for one in played}) == 2


def test_an_evaluation_plays_the_models_that_it_wants_under_each_contract():
    (part,) = resolve_plan("laptop").parts
    trained, untrained = part.evaluations
    played = [list(evaluation_conditions(part, evaluation, MODELS)) for evaluation in (trained, untrained)]
    assert [[(one.model_name, one.runtime_contract) for one in conditions] for conditions in played] == [
        list(product(("persistent-0", "stateless-0"), ("persistent", "stateless"))),
        list(product(("base",), ("persistent", "stateless"))),
    ]
    assert played[0][1] == Condition(
        purpose="evaluation",
        variant="main",
        base="scratch",
        model_name="persistent-0",
        train_contract="persistent",
        training_seed=0,
        runtime_contract="stateless",
        visibility="declared",
        header="names",
        bucket="small",
        split="evaluation",
        is_out_of_distribution=False,
    )
    larger = trained.model_copy(update={"instances": trained.instances.model_copy(update={"bucket": "small_large"})})
    conditions = [*evaluation_conditions(part, larger, MODELS), *script_conditions(part, larger)]
    assert {one.is_out_of_distribution for one in conditions} == {True}


@pytest.mark.parametrize("name", PLANS)
def test_every_plan_has_the_script_control_beside_trained_models(name):
    for part in resolve_plan(name).parts:
        trained = [evaluation.instances for evaluation in part.evaluations if evaluation.has_trained_rows]
        scripted = [evaluation.instances for evaluation in part.evaluations if evaluation.has_scripted_rows]
        assert trained, part.name
        assert all(instances in scripted for instances in trained), part.name
