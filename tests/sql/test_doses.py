"""The studies of a dose: the teacher's batch, the other contract's share, the lifetime of names."""

import json

import pytest

from carryover.tasks.traces.vocabulary import LETTERS
from tests.sql.hand_made import OURS

CONTRACTS = {letter: contract for contract, letter in LETTERS.items()}
CROSSED = {"metric": "total_tokens", "comparison_group": "train_x_runtime", "estimate": 0.5, "low": 0.4, "high": 0.6}


def add_batch(study, batch, tokens):
    """Add a trained and a scripted episode of each cell; the script's tokens are 100 fewer."""
    variant = f"batch-{batch}"
    habits = json.dumps({"taken_per_turn": batch})
    for cell, total in tokens.items():
        shown = {"variant": variant, "completion_tokens": 100}
        study.episode(cell, "i1", 0.75, prompt_tokens=total - 100, **shown)
        script = {"base": "teacher", "training_seed": None, "habits_json": habits}
        study.episode(cell, "i1", 0.75, prompt_tokens=total - 200, **shown, **script)


@pytest.fixture
def batches(warehouse):
    warehouse.run()
    add_batch(warehouse, 3, {"P->P": 1000, "P->S": 1500})
    add_batch(warehouse, "all", {"P->P": 1000, "P->S": 600})
    warehouse.statistic("interaction_ratio", variant="batch-3", **CROSSED)
    script = CROSSED | {"estimate": 0.9, "low": 0.8, "high": 1.0}
    warehouse.statistic("interaction_ratio", variant="batch-3", base="teacher", **script)
    return warehouse


def test_each_batch_has_its_cells_beside_the_scripts(batches):
    row = next(row for row in batches.table("batches") if (row["batch"], row["condition"]) == ("3", "P->S"))
    assert row == OURS | {
        "variant": "batch-3",
        "base": "common",
        "visibility": "declared",
        "header": "names",
        "bucket": "small",
        "batch": "3",
        "condition": "P->S",
        "episode_count": 1,
        "ended_count": 1,
        "trained_tokens": 1500,
        "script_tokens": 1400,
        "trained_minus_script_low": None,
        "trained_minus_script_high": None,
        "trained_ratio_to_p_on_p": 1.5,
        "script_ratio_to_p_on_p": pytest.approx(1400 / 900),
        "trained_missing_names": 0,
        "script_missing_names": 0,
        "trained_score_pct": 75,
        "script_score_pct": 75,
        "interaction_ratio": 0.5,
        "interaction_ratio_low": 0.4,
        "interaction_ratio_high": 0.6,
        "script_interaction_ratio": 0.9,
        "script_interaction_ratio_low": 0.8,
        "script_interaction_ratio_high": 1.0,
    }


def test_batches_are_in_order_of_their_size(batches):
    assert [(row["batch"], row["condition"]) for row in batches.table("batches")] == [
        ("3", "P->P"),
        ("3", "P->S"),
        ("all", "P->P"),
        ("all", "P->S"),
    ]


def test_a_teacher_of_drawn_batches_is_no_dose(warehouse):
    warehouse.run()
    for number, batch in enumerate((1, 3)):
        script = {"base": "teacher", "training_seed": None, "habits_json": json.dumps({"taken_per_turn": batch})}
        warehouse.episode("P->P", f"i{number}", 0.5, **script)
        warehouse.episode("P->P", f"i{number}", 0.5)
    assert warehouse.table("batches") == []


def add_share(study, share, tokens, *, is_declared=True):
    """Add a trained P->S episode and its training example."""
    variant = f"mixture-{share:g}-{is_declared}"
    contract = json.dumps({} if is_declared else {"declares_contract": False})
    shown = {"variant": variant, "contract_json": contract, "completion_tokens": 100}
    study.episode("P->S", "i1", 0.5, prompt_tokens=tokens - 100, **shown)
    teacher = study.episode("teacher->P", "t1", 1.0, variant=variant)
    study.example(teacher, "persistent", "retained", variant=variant, other_share=share)


def test_each_share_has_its_cells_beside_the_unmixed_one(warehouse):
    warehouse.run()
    add_share(warehouse, 0.0, 2000)
    add_share(warehouse, 0.5, 1000)
    add_share(warehouse, 0.5, 3000, is_declared=False)
    rows = warehouse.table("mixture")
    shown = [(row["is_declared"], row["other_share"], row["condition"], row["ratio_to_unmixed"]) for row in rows]
    assert shown == [(True, 0, "P->S", 1), (True, 0.5, "P->S", 0.5), (False, 0.5, "P->S", None)]
    assert [row["mean_total_tokens"] for row in rows] == [2000, 1000, 3000]
    assert {(row["missing_name_episode_pct"], row["score_pct"], row["episode_count"]) for row in rows} == {(0, 50, 1)}


def test_a_plan_without_a_mixture_has_no_rows(warehouse):
    warehouse.run()
    add_share(warehouse, 0.0, 2000)
    assert warehouse.table("mixture") == []


LIFETIMES = {"S": "block", "recent-1": "recent:1", "recent-3": "recent:3", "P": "episode"}


def add_lifetimes(study, cells):
    """Add an episode of the model and one of the script for each cell; the script's tokens are 100 fewer."""
    for cell, total in cells.items():
        contract = json.dumps({"contract": {"lifetime": LIFETIMES[cell.partition("->")[2]]}})
        shown = {"variant": "lifetimes", "completion_tokens": 100, "contract_json": contract}
        episode = study.episode(cell, "i1", 0.5, prompt_tokens=total - 100, **shown)
        if cell == "P->recent-1":
            study.error(episode, 1, "NameError: name 'ids' is not defined")
        study.episode(cell, "i1", 0.5, prompt_tokens=total - 200, base="teacher", training_seed=None, **shown)


def test_each_lifetime_has_its_cells_beside_home(warehouse):
    warehouse.run()
    add_lifetimes(warehouse, {"P->P": 1000, "P->recent-1": 1500, "recent-1->P": 2000, "recent-1->recent-1": 2000})
    rows = warehouse.table("lifetimes")
    columns = ("trained_blocks", "played_blocks", "condition", "ratio_to_home", "script_tokens")
    assert [tuple(row[column] for column in columns) for row in rows] == [
        ("1", "1", "recent-1->recent-1", 1.0, 1900),
        ("1", "all", "recent-1->P", 1.0, 1900),
        ("all", "1", "P->recent-1", 1.5, 1400),
        ("all", "all", "P->P", 1.0, 900),
    ]
    assert [row["missing_name_episode_pct"] for row in rows] == [0, 0, 100, 0]
    assert rows[2] | OURS | {"missing_names_per_episode": 1, "score_pct": 50, "episode_count": 1} == rows[2]


def test_a_plan_of_two_lifetimes_has_no_rows(warehouse):
    warehouse.run()
    add_lifetimes(warehouse, {"P->P": 1000, "P->S": 1500, "S->S": 2000})
    assert warehouse.table("lifetimes") == []


def test_kept_names_describe_their_lifetimes(warehouse):
    warehouse.run()
    for cell in ("P->P", "P->recent-3", "S->recent-3", "recent-3->S", "recent-3->mine"):
        warehouse.episode(cell, "i1", 0.5, contract_json="{}")
    rows = warehouse.table("lifetimes")
    assert [(row["trained_blocks"], row["played_blocks"]) for row in rows] == [
        ("0", "3"), ("3", "0"), ("all", "3"), ("all", "all"),
    ]  # fmt: skip
