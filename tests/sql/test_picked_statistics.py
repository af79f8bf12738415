"""Which of many landed statistics stand in the rows of means and comparisons; the others are beside them as decoys."""

from itertools import product

import pytest

from tests.sql.hand_made import OTHER_SETTINGS, PAIR

CELL = {"train_a": "persistent", "runtime_a": "stateless"}
METRICS = ("score", "total_tokens", "is_solved", "has_missing_name", "missing_name_count")
KINDS = ("percentile", "BCa", "t over seeds")


def test_ends_of_a_mean_are_of_the_percentile_and_of_the_wider_interval(warehouse):
    for number, metric in enumerate(METRICS, start=1):
        warehouse.statistic("mean", **CELL, metric=metric, low=number + 0.25, high=number + 0.5)
        wide = {"low": number + 0.125, "high": number + 0.75}
        warehouse.statistic("mean", **CELL, metric=metric, **wide, interval_kind="t over seeds")
        warehouse.statistic("mean", **CELL, metric=metric, low=0.0, high=99.0, interval_kind="BCa")
        warehouse.statistic("difference", **CELL, metric=metric, low=0.0, high=99.0)
    (row,) = warehouse.sql("from staging.mean_intervals")
    ends = {name: value for name, value in row.items() if name.endswith(("_low", "_high"))}
    assert ends == {
        "score_pct_low": 125,
        "score_pct_high": 150,
        "mean_total_tokens_low": 2.25,
        "mean_total_tokens_high": 2.5,
        "widest_score_pct_low": 112.5,
        "widest_score_pct_high": 175,
        "widest_mean_total_tokens_low": 2.125,
        "widest_mean_total_tokens_high": 2.75,
        "widest_solved_pct_low": 312.5,
        "widest_solved_pct_high": 375,
        "widest_missing_name_episode_pct_low": 412.5,
        "widest_missing_name_episode_pct_high": 475,
        "widest_missing_names_per_episode_low": 5.125,
        "widest_missing_names_per_episode_high": 5.75,
    }


def test_the_percentile_interval_leads_where_it_is_the_wider(warehouse):
    for metric in METRICS:
        warehouse.statistic("mean", **CELL, metric=metric, low=0.25, high=0.75)
        warehouse.statistic("mean", **CELL, metric=metric, low=0.5, high=0.625, interval_kind="t over seeds")
    (row,) = warehouse.sql("from staging.mean_intervals")
    widest = {name.rpartition("_")[2]: set() for name in ("low", "high")}
    for name, value in row.items():
        if name.startswith("widest_"):
            widest[name.rpartition("_")[2]].add(value)
    assert widest == {"low": {0.25, 25}, "high": {0.75, 75}}


@pytest.mark.parametrize("values", [*OTHER_SETTINGS, {"train_a": "stateless"}, {"runtime_a": "persistent"}])
def test_each_cell_has_its_own_means(warehouse, values):
    warehouse.statistic("mean", **CELL, low=0.25, high=0.5)
    warehouse.statistic("mean", **(CELL | values), low=0.5, high=0.75)
    rows = warehouse.sql("from staging.mean_intervals")
    assert sorted(row["score_pct_low"] for row in rows) == [25, 50]


PICKED = {
    ("wilcoxon", "score"): {
        "pair_count": 7, "nonzero_count": 5, "mean_a": 0.5, "mean_b": 0.25, "estimate": 0.375, "p_value": 0.02,
        "p_holm": 0.04, "effect_size": 0.5, "effect_size_authors": 0.75, "note": "words",
    },
    ("difference", "score"): {"low": 0.125, "high": 0.625},
    ("equivalence", "score"): {"p_value": 0.03, "p_holm": 0.06, "verdict": "equivalent"},
    ("power", "score"): {"estimate": 0.0625},
    ("mcnemar", "is_solved"): {"p_value": 0.11, "p_holm": 0.12},
    ("mcnemar", "has_missing_name"): {"p_value": 0.21, "p_holm": 0.22},
    ("ratio", "total_tokens"): {"estimate": 3.0, "low": 2.0, "high": 4.0},
}  # fmt: skip
DECOY = {
    "pair_count": 99, "nonzero_count": 99, "mean_a": 99.0, "mean_b": 99.0, "estimate": 99.0, "p_value": 0.99,
    "p_holm": 0.99, "low": 99.0, "high": 99.0, "effect_size": 0.99, "effect_size_authors": 0.99, "verdict": "zzz",
    "note": "zzz",
}  # fmt: skip
BY_KIND = ("difference", "ratio")
"""Analyses with an interval of each kind, of which the percentile one stands in the comparison."""


def test_a_comparison_has_each_number_from_its_own_analysis(warehouse):
    for number, cell in product(range(20), ("P->P", "P->S", "S->P", "S->S")):
        warehouse.episode(cell, f"i{number}", 0.9)
    for place, values in PICKED.items():
        warehouse.statistic(place[0], **PAIR, metric=place[1], **values)
    analyses = {analysis for analysis, _ in PICKED}
    metrics = {metric for _, metric in PICKED} | {"total_tokens"}
    for analysis, metric, kind in product(analyses, metrics, KINDS):
        is_picked = (analysis, metric) in PICKED and (kind == "percentile" or analysis not in BY_KIND)
        if not is_picked:
            warehouse.statistic(analysis, **PAIR, metric=metric, interval_kind=kind, **DECOY)
    (row,) = warehouse.sql("from marts.score_comparisons")
    assert {name: value for name, value in row.items() if "qwen3_8b" not in name} == {
        "plan_digest": "plan",
        "variant": "main",
        "base": "common",
        "visibility": "declared",
        "header": "names",
        "bucket": "small",
        "comparison_group": "native_vs_mismatched",
        **PAIR,
        "measured_on": "laptop, not Qwen3-8B",
        "published_split": "easy",
        "pair_count": 7,
        "nonzero_count": 5,
        "mean_a_pct": 50,
        "mean_b_pct": 25,
        "difference_points": 37.5,
        "difference_low_points": 12.5,
        "difference_high_points": 62.5,
        "p_value": 0.02,
        "p_holm": 0.04,
        "significance": "*",
        "effect_size": 0.5,
        "effect_size_authors": 0.75,
        "equivalence_p_value": 0.03,
        "equivalence_p_holm": 0.06,
        "equivalence_verdict": "equivalent",
        "smallest_detectable_points": 6.25,
        "solved_p_value": 0.11,
        "solved_p_holm": 0.12,
        "missing_name_p_value": 0.21,
        "missing_name_p_holm": 0.22,
        "token_ratio": 3,
        "token_ratio_low": 2,
        "token_ratio_high": 4,
        "note": "words",
        "mean_a_pct_difference": None,
        "mean_b_pct_difference": None,
        "difference_points_difference": None,
    }


def test_a_comparison_without_a_test_on_scores_has_no_row(warehouse):
    warehouse.episode("P->P")
    warehouse.statistic("mcnemar", **PAIR, metric="is_solved", p_value=0.5)
    assert warehouse.sql("from marts.score_comparisons") == []


def test_equivalence_tells_each_margin_where_the_pairs_bear_a_verdict(warehouse):
    """Verdicts are told at 20 ended pairs; the p-value is that of five points alone."""
    for number, cell in product(range(20), ("P->P", "P->S", "S->P", "S->S")):
        warehouse.episode(cell, f"i{number}", 0.9)
    shared = {"estimate": 0.25, "low": 0.125, "high": 0.5, "note": "words"}
    for margin, verdict, p_holm in (
        ("equivalence", "five", 0.1),
        ("equivalence_within_2_points", "two", 0.2),
        ("equivalence_within_10_points", "ten", 0.3),
    ):
        warehouse.statistic(margin, **PAIR, **shared, verdict=verdict, p_holm=p_holm)
    warehouse.statistic("difference", **PAIR, estimate=99.0, verdict="zzz")
    (row,) = warehouse.table("equivalence")
    assert (row["within_2_points"], row["within_5_points"], row["within_10_points"]) == ("two", "five", "ten")
    assert (row["within_5_points_p_holm"], row["note"], row["pair_count"]) == (0.1, "words", 2)
    ends = (row["difference_low_points"], row["difference_points"], row["difference_high_points"])
    assert ends == (12.5, 25, 50)


def test_no_published_interaction_or_ratio_stands_beside_an_ablation(warehouse):
    settings = ({}, {"variant": "no_faults"}, {"visibility": "as_trained"}, {"header": "none"})
    crossed = {"comparison_group": "train_x_runtime", "metric": "total_tokens", "estimate": 0.5}
    ratio = {"comparison_group": "against_aligned", "metric": "total_tokens", "estimate": 2.0}
    for values in settings:
        warehouse.episode("P->P", **values)
        warehouse.statistic("interaction_ratio", **crossed, **values)
        warehouse.statistic("ratio", **ratio, **CELL, **values)
    for table, column in (("interaction", "qwen3_8b_estimate"), ("token_ratios", "qwen3_8b_ratio")):
        told = [row for row in warehouse.table(table) if row[column] is not None]
        assert [(row["variant"], row["visibility"], row["header"]) for row in told] == [("main", "declared", "names")]
