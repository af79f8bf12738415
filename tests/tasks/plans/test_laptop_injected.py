"""The plans of four contracts: what they train and play, and that the study of two stays as it is."""

from itertools import product

import pytest

from carryover.tasks.analysis.statistics_spec import INJECTION_COMPARISONS, ComparedArm
from carryover.tasks.plans.estimate import estimate_study
from carryover.tasks.plans.hypotheses import read_hypotheses
from carryover.tasks.plans.laptop_full import FOUR_CONTRACTS, laptop_full_parts, laptop_injected_parts
from carryover.tasks.plans.models import evaluation_conditions
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.study_plan import teacher_conditions
from carryover.tasks.runtime.contract import CONTRACTS
from carryover.tasks.services.limits import Prices
from carryover.tasks.traces.vocabulary import LETTERS, PAPER_CONTRACTS, ContractName
from tests.flattening import flat
from tests.tasks.plans.test_models import make_model

PARTS = {part.name: part for part in laptop_injected_parts()}


@pytest.mark.parametrize("name", ["smoke_injected", "laptop_injected", "laptop_injected_control", "paper_injected"])
def test_every_part_trains_and_plays_on_each_contract(name):
    cell_counts = set()
    for part in resolve_plan(name).parts:
        assert [condition.runtime_contract for condition in teacher_conditions(part)] == list(ContractName)
        models = [make_model(f"{contract}-1", contract) for contract in part.teacher.contracts]
        for evaluation in part.evaluations:
            played = evaluation_conditions(part, evaluation, models if evaluation.has_trained_rows else [])
            cell_counts.add(len({(one.train_contract, one.runtime_contract) for one in played}))
    assert cell_counts - {0} == {16}


def test_the_laptop_parts_play_the_main_setting_seed_after_seed():
    names = [f"{base}-{seed}" for seed, base in product((1, 2, 3), ("scratch", "common"))]
    assert list(PARTS) == [*names, *(f"scratch-{seed}-as-trained" for seed in (1, 2, 3))]
    main = next(laptop_full_parts()).evaluations[0]
    (played,) = PARTS["scratch-1"].evaluations
    assert played == main.model_copy(
        update={"instances": main.instances.model_copy(update={"count": 60}), "runtime_contracts": tuple(ContractName)}
    )
    assert {(part.variant, part.dataset.matching) for part in PARTS.values()} == {(FOUR_CONTRACTS, "tokens")}


def test_the_control_changes_nothing_but_the_labels():
    (control,) = resolve_plan("laptop_injected_control").parts
    dataset = control.dataset.model_copy(
        update={"labels": "true", "shuffle_seed": PARTS["scratch-1"].dataset.shuffle_seed}
    )
    same = control.model_copy(update={"name": "scratch-1", "variant": FOUR_CONTRACTS, "dataset": dataset})
    assert (control.name, control.dataset.labels, same) == ("scratch-1-shuffled", "shuffled", PARTS["scratch-1"])


def test_the_base_plays_beside_its_adapters():
    assert [part.evaluations[0].has_base_rows for part in (PARTS["scratch-2"], PARTS["common-2"])] == [False, True]


@pytest.mark.parametrize("name", ["smoke", "laptop", "laptop_full", "paper"])
def test_the_other_plans_have_two_contracts(name):
    plan = resolve_plan(name)
    played = {each.runtime_contracts for each in flat(part.evaluations for part in plan.parts)}
    assert {part.teacher.contracts for part in plan.parts} | played == {PAPER_CONTRACTS}
    assert "runtime_contracts" not in plan.model_dump_json()


def test_pandas_is_imported_beforehand_only_where_frames_are_injected():
    plan = resolve_plan("laptop_injected")
    assert all(
        plan.runtime_under(CONTRACTS[contract]) == resolve_plan("laptop").runtime for contract in PAPER_CONTRACTS
    )
    for contract in (ContractName.INJECTED, ContractName.INJECTED_PERSISTENT):
        assert {"pandas", "pyarrow"} <= set(plan.runtime_under(CONTRACTS[contract]).preload)


@pytest.mark.parametrize("name", ["laptop_injected", "paper_injected"])
def test_a_dry_run_counts_every_cell(name):
    plan = resolve_plan(name)
    rows = estimate_study(plan, Prices(), concurrency=4)
    first = plan.parts[0]
    trained = sum(len(part.training_seeds) for part in plan.parts if "as-trained" not in part.name) * 4
    bases = len({part.base for part in plan.parts if part.own_base is not None})
    assert sum(len(row.trainings) or 1 for row in rows if "training, " in row.stage) == trained + bases
    cells = [row for row in rows if " -> injected" in row.stage and first.evaluations[0].instances.bucket in row.stage]
    assert all(row.episodes and (row.prompt_tokens or "scripted" in row.stage) for row in cells)


def test_every_claim_on_four_contracts_has_its_statistic():
    arm_of = {letters: contract for contract, letters in LETTERS.items()}

    def arm(cell):
        train, _, runtime = cell.partition("->")
        return ComparedArm(arm_of[train], arm_of[runtime])

    claims = [one for one in read_hypotheses().hypothesis if one.variants == (FOUR_CONTRACTS,)]
    pairs = {(comparison.a, comparison.b) for comparison in INJECTION_COMPARISONS}
    assert len(claims) > 20
    assert {one.analysis for one in claims} == {"mean", "ratio", "difference"}
    assert all((arm(one.a), arm(one.b)) in pairs for one in claims if one.b is not None)
    injected = [one for one in read_hypotheses().hypothesis if "I" in f"{one.a} {one.b}"]
    assert {one.variants for one in injected} == {(FOUR_CONTRACTS,), (f"{FOUR_CONTRACTS}-shuffled",)}
