"""The mechanism in one row per setting, exact rows worked out by hand."""

import polars as pl
import pytest

from carryover.tasks.analysis.formatting import VARIANT_WORDS
from carryover.tasks.analysis.rendering import sheets
from carryover.tasks.plans.laptop_full import laptop_full_parts
from tests.flattening import flat
from tests.sql.hand_made import OURS

EVALUATIONS = flat(part.evaluations for part in laptop_full_parts())
VARIANTS = sorted({part.variant for part in (*laptop_full_parts(), *EVALUATIONS) if part.variant})

SCRIPT_RATIOS = ("p_on_s_token", "s_on_p_token", "s_on_s_token", "interaction")


def play(warehouse, cell, tokens, **values):
    for position, total in enumerate(tokens):
        warehouse.episode(cell, f"i{position}", prompt_tokens=total - 100, completion_tokens=100, **values)


def statistic(warehouse, analysis, estimate, cell=None, *, low=None, high=None, kind="percentile"):
    train, runtime = (cell or "->").split("->")
    names = {"P": "persistent", "S": "stateless", "": None}
    arms = {"train_a": names[train], "runtime_a": names[runtime]}
    group = "against_aligned" if cell else "train_x_runtime"
    numbers = {"metric": "total_tokens", "estimate": estimate, "low": low, "high": high, "interval_kind": kind}
    warehouse.statistic(analysis, comparison_group=group, **arms, **numbers)


def mechanism(warehouse, *columns):
    return [{column: row[column] for column in columns} for row in warehouse.table("mechanism")]


def test_setting_is_one_row_with_cells_side_by_side(warehouse):
    play(warehouse, "P->P", [1000, 1000, 1000])
    play(warehouse, "S->S", [2000, 2000, 2000])
    play(warehouse, "S->P", [1500, 1500, 1500])
    play(warehouse, "P->S", [2000])
    warehouse.error(warehouse.episode("P->S", "i1", prompt_tokens=2900), 2, "NameError: name 'ids' is not defined")
    warehouse.episode("P->S", "i2", prompt_tokens=19_900, finish_reason="max_turns")
    for cell, ratio in (("P->S", 8.333), ("S->S", 2.0), ("S->P", 1.5)):
        statistic(warehouse, "ratio", ratio, cell, low=ratio - 0.1, high=ratio + 0.1)
        statistic(warehouse, "ratio", 99.0, cell, kind="BCa")
    statistic(warehouse, "interaction_ratio", 0.4, low=0.3, high=0.5)
    group = {"variant": "main", "base": "common", "visibility": "declared", "header": "names", "bucket": "small"}
    assert warehouse.table("mechanism") == [
        OURS
        | group
        | {"seed_count": 1, "episodes_per_cell": 3}
        | {"p_on_s_missing_name_pct": pytest.approx(100 / 3), "most_missing_name_pct_elsewhere": 0.0}
        # the pairs that ended: 2,000 and 3,000 tokens over 1,000 each
        | {"p_on_s_unended_count": 1, "p_on_s_token_ratio": 8.333, "p_on_s_ended_token_ratio": 2.5}
        | {"s_on_p_token_ratio": 1.5, "s_on_s_token_ratio": 2.0}
        | {"interaction_ratio": 0.4, "interaction_ratio_low": 0.3, "interaction_ratio_high": 0.5}
        | {"interval_kind": "percentile"}
        | dict.fromkeys(("narrower_ratio", "narrower_ratio_low", "narrower_ratio_high"))
        | dict.fromkeys(f"script_{name}_ratio" for name in SCRIPT_RATIOS)
        | dict.fromkeys(("no_verdict_reason", "no_pair_verdict_reason"), "3 instances in P->P: a verdict needs 20")
    ]


@pytest.mark.parametrize(("wide", "narrow"), [("t over seeds", "percentile"), ("percentile", "t over seeds")])
def test_the_wider_interval_over_seeds_leads(warehouse, wide, narrow):
    play(warehouse, "P->S", [1000])
    # the estimate is the ratio of means, whichever interval stands beside it
    estimates = {"percentile": 0.4, "t over seeds": 0.41}
    statistic(warehouse, "interaction_ratio", estimates[narrow], low=0.3, high=0.5, kind=narrow)
    statistic(warehouse, "interaction_ratio", estimates[wide], low=0.2, high=0.6, kind=wide)
    columns = ("interaction_ratio", "interaction_ratio_low", "interval_kind", "narrower_ratio_high")
    assert mechanism(warehouse, *columns) == [dict(zip(columns, (0.4, 0.2, wide, 0.5), strict=True))]


def test_the_other_cells_missing_names_are_told_by_the_most(warehouse):
    play(warehouse, "P->P", [1000, 1000])
    play(warehouse, "P->S", [2000], finish_reason="max_turns")
    warehouse.error(warehouse.episode("S->S"), 2, "NameError: name 'ids' is not defined")
    columns = ("episodes_per_cell", "p_on_s_missing_name_pct", "most_missing_name_pct_elsewhere")
    assert mechanism(warehouse, *columns) == [dict(zip(columns, (1, 0.0, 100.0), strict=True))]


def test_a_pair_ended_where_both_of_its_episodes_did(warehouse):
    play(warehouse, "P->P", [1000, 1000])
    warehouse.episode("P->P", "i2", prompt_tokens=7900, finish_reason="max_turns")
    play(warehouse, "P->S", [2000, 3000, 9000])
    assert mechanism(warehouse, "p_on_s_ended_token_ratio") == [{"p_on_s_ended_token_ratio": 2.5}]


def test_a_setting_without_a_pair_that_ended_has_no_ratio(warehouse):
    play(warehouse, "P->P", [1000])
    play(warehouse, "P->S", [9000], finish_reason="max_turns")
    assert mechanism(warehouse, "p_on_s_ended_token_ratio") == [{"p_on_s_ended_token_ratio": None}]


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
    (sheet,) = sheets(pl.DataFrame(warehouse.table("mechanism")), "mechanism")
    assert [row[:2] for row in sheet.rows] == [
        ("scratch, small, declared", "2"),
        ("scratch, small_large, declared", "1"),
        ("common with adapters, small, as trained", "1"),
        ("scratch, small, declared, new idea", "1"),
        ("scratch, small, declared, no faults in training", "1"),
    ]


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_of_the_laptop_study_has_words(variant):
    assert variant == "main" or variant in VARIANT_WORDS
