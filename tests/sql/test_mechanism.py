"""The mechanism in one row per setting, as README prints it; exact rows, worked out by hand."""

import pytest

from carryover.tasks.analysis.queries import table_query
from carryover.tasks.plans.laptop_full import laptop_full_parts
from tests.sql.hand_made import OURS

VARIANTS = sorted(
    {
        name
        for part in laptop_full_parts()
        for name in (part.variant, *(each.variant for each in part.evaluations))
        if name
    }
)


def play(warehouse, cell, tokens, **values):
    for position, total in enumerate(tokens):
        warehouse.episode(cell, f"i{position}", prompt_tokens=total - 100, completion_tokens=100, **values)


def cost(warehouse, cell, metric, estimate, **values):
    train, runtime = cell.split("->")
    names = {"P": "persistent", "S": "stateless"}
    arms = {"train_a": names[train], "runtime_a": names[runtime], "train_b": "persistent", "runtime_b": "persistent"}
    numbers = {"estimate": estimate, "low": estimate - 0.1, "high": estimate + 0.1, **values}
    warehouse.statistic("ratio", comparison_group="against_aligned", metric=metric, **arms, **numbers)


def test_a_setting_is_one_row_with_its_cells_side_by_side(warehouse):
    play(warehouse, "P->P", [1000, 1000, 1000])
    play(warehouse, "S->S", [2000, 2000, 2000])
    play(warehouse, "S->P", [1500, 1500, 1500])
    play(warehouse, "P->S", [2000])
    warehouse.error(warehouse.episode("P->S", "i1", prompt_tokens=2900), 2, "NameError: name 'ids' is not defined")
    warehouse.episode("P->S", "i2", prompt_tokens=19_900, finish_reason="max_turns")
    for cell, whole, per_turn in (("P->S", 8.333, 2.0), ("S->S", 2.0, 1.995), ("S->P", 1.5, 1.5)):
        cost(warehouse, cell, "total_tokens", whole)
        cost(warehouse, cell, "total_tokens", whole, interval_kind="BCa", low=None, high=None)
        cost(warehouse, cell, "tokens_per_turn", per_turn)
        cost(warehouse, cell, "completion_tokens", 9.0)
    interaction = {"comparison_group": "train_x_runtime", "metric": "total_tokens", "estimate": -6833.4}
    warehouse.statistic("interaction", **interaction, low=-12345.6, high=-7.5)
    assert warehouse.table("mechanism") == [
        OURS
        | {"setting": "common with adapters, small, declared", "episodes_per_cell": "3"}
        | {"p_on_s_missing_names": "33 %", "p_on_s_without_end": 1}
        # the pairs that ended: 2,000 and 3,000 tokens over 1,000 each
        | {"tokens_over_p_on_p": "8.33 (2.50) / 2.00 / 1.50", "tokens_per_turn_over_p_on_p": "2.00 / 2.00 / 1.50"}
        | {"interaction_on_tokens": "-6,833 [-12,346, -8]"}
    ]


def test_cells_that_differ_are_named(warehouse):
    play(warehouse, "P->P", [1000, 1000])
    play(warehouse, "P->S", [2000], finish_reason="max_turns")
    warehouse.error(warehouse.episode("S->S"), 2, "NameError: name 'ids' is not defined")
    cost(warehouse, "P->S", "total_tokens", 2.0)
    (row,) = warehouse.table("mechanism")
    assert row["episodes_per_cell"] == "P→P 2, P→S 1, S→S 1"
    assert row["p_on_s_missing_names"] == "0 % (S→S 100 %)"
    assert row["tokens_over_p_on_p"] is None  # a cell without statistics leaves no ratio half told


def test_a_pair_ended_where_both_of_its_episodes_did(warehouse):
    play(warehouse, "P->P", [1000, 1000])
    warehouse.episode("P->P", "i2", prompt_tokens=7900, finish_reason="max_turns")
    play(warehouse, "P->S", [2000, 3000, 9000])
    for cell in ("P->S", "S->S", "S->P"):
        cost(warehouse, cell, "total_tokens", 1.4)
    (row,) = warehouse.table("mechanism")
    assert row["tokens_over_p_on_p"] == "1.40 (2.50) / 1.40 / 1.40"  # 2,000 and 3,000 tokens over 1,000 each


def test_a_setting_without_a_pair_that_ended_says_so(warehouse):
    play(warehouse, "P->P", [1000])
    play(warehouse, "P->S", [9000], finish_reason="max_turns")
    for cell in ("P->S", "S->S", "S->P"):
        cost(warehouse, cell, "total_tokens", 9.0)
    (row,) = warehouse.table("mechanism")
    assert row["tokens_over_p_on_p"] == "9.00 (none) / 9.00 / 9.00"


def test_settings_are_told_in_words_the_study_itself_first(warehouse):
    settings = [
        {"variant": "new-idea", "header": "none"},
        {"variant": "no-faults"},
        {"bucket": "small_large"},
        {"base": "common", "visibility": "as_trained"},
        {},
    ]
    for values in settings:
        warehouse.episode("P->S", **{"base": "scratch", **values})
    warehouse.episode("P->S", base="scratch", training_seed=1)
    warehouse.episode("base->P", base="scratch")  # no setting of its own
    assert [row["setting"] for row in warehouse.table("mechanism")] == [
        "scratch, small, declared, 2 seeds",
        "scratch, small_large, declared",
        "common with adapters, small, as trained",
        "scratch, small, declared, new idea",
        "scratch, small, declared, no faults in training",
    ]


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_of_the_laptop_study_has_words(variant):
    assert f"('{variant}', " in table_query("mechanism").sql
