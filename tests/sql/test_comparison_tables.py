"""Tables 7 and 8, the interaction and the token ratios: statistics beside the published ones, as they landed."""

import pytest

from tests.sql.hand_made import GROUP, OURS, PAIR, cells, without_differences


def test_table_7_sets_every_paired_statistic_beside_the_paper(study):
    means = {"mean_a": 0.75, "mean_b": 0.5, "estimate": 0.25}
    effects = {"nonzero_count": 2, "statistic": 0.0, "effect_size": 1.0, "effect_size_authors": 1.0}
    study.statistic("wilcoxon", **PAIR, **means, **effects, p_value=0.04, p_holm=0.08)
    study.statistic("difference", **PAIR, **means, low=0.1, high=0.4)
    study.statistic("equivalence", **PAIR, **means, p_value=0.6, p_holm=1.0, verdict="equivalence not shown")
    study.statistic("power", **PAIR, estimate=0.3)
    study.statistic("mcnemar", **PAIR, metric="is_solved", p_value=0.9, p_holm=0.95)
    study.statistic("mcnemar", **PAIR, metric="has_missing_name", p_value=0.5, p_holm=0.7)
    study.statistic("ratio", **PAIR, metric="total_tokens", estimate=0.29, low=0.25, high=0.33)
    assert study.table("table_07") == [
        GROUP
        | OURS
        | PAIR
        | {
            "pair_count": 2,
            "nonzero_count": 2,
            "mean_a_pct": 75.0,
            "mean_b_pct": 50.0,
            "difference_points": 25.0,
            "difference_low_points": 10.0,
            "difference_high_points": 40.0,
            "p_value": 0.04,
            "p_holm": 0.08,
            "significance": "*",
            "effect_size": 1.0,
            "effect_size_authors": 1.0,
            "equivalence_p_value": 0.6,
            "equivalence_p_holm": 1.0,
            "equivalence_verdict": "equivalence not shown",
            "smallest_detectable_points": 30.0,
            "solved_p_value": 0.9,
            "solved_p_holm": 0.95,
            "missing_name_p_value": 0.5,
            "missing_name_p_holm": 0.7,
            "token_ratio": 0.29,
            "token_ratio_low": 0.25,
            "token_ratio_high": 0.33,
            "note": None,
            "qwen3_8b_split": "easy",
            "qwen3_8b_mean_a_pct": 81.11,
            "qwen3_8b_mean_b_pct": 82.24,
            "qwen3_8b_difference_points": -1.13,
            "qwen3_8b_significance": "ns",
        }
        | without_differences("mean_a_pct", "mean_b_pct", "difference_points")
    ]
    assert study.table("table_08") == []


def test_table_8_shows_a_comparison_that_was_not_tested(warehouse):
    warehouse.episode("P->P", is_out_of_distribution=True, bucket="small_large")
    warehouse.statistic("wilcoxon", **PAIR, bucket="small_large", nonzero_count=1, estimate=0.0, note="no test: 1 of 2")
    row = warehouse.table("table_08")[0]
    assert (row["significance"], row["note"], row["p_value"]) == ("no test", "no test: 1 of 2", None)
    assert (row["qwen3_8b_mean_b_pct"], row["qwen3_8b_difference_points"]) == (68.21, 7.17)


@pytest.mark.parametrize(
    ("p_value", "mark"), [(0.0009, "***"), (0.001, "**"), (0.009, "**"), (0.01, "*"), (0.049, "*"), (0.05, "ns")]
)
def test_significance_marks_are_strict(warehouse, p_value, mark):
    warehouse.episode("P->P")
    warehouse.statistic("wilcoxon", **PAIR, p_value=p_value)
    assert warehouse.table("table_07")[0]["significance"] == mark


@pytest.mark.parametrize(
    ("metric", "analysis", "published"),
    [
        ("total_tokens", "interaction", (19648 - 48171) - (34877 - 58814)),
        ("total_tokens", "interaction_ratio", (19648 / 48171) / (34877 / 58814)),
        ("score", "interaction", (0.811 - 0.822) - (0.814 - 0.820)),
        ("imports_per_step", "interaction", (0.29 - 0.87) - (1.0 - 1.0)),
        ("missing_name_count", "interaction", None),
    ],
)
def test_interaction_stands_beside_that_of_the_published_means(study, metric, analysis, published):
    study.statistic(
        analysis,
        comparison_group="train_x_runtime",
        metric=metric,
        estimate=-1.0,
        low=-2.0,
        high=0.5,
        verdict="includes 0",
    )
    assert study.table("interaction") == [
        GROUP
        | OURS
        | {
            "analysis": analysis,
            "metric": metric,
            "interval_kind": "percentile",
            "pair_count": 2,
            "estimate": -1.0,
            "low": -2.0,
            "high": 0.5,
            "verdict": "includes 0",
            "p_value": None,
            "p_holm": None,
            "effect_size": None,
            "note": None,
            "qwen3_8b_split": "easy",
            "qwen3_8b_estimate": None if published is None else pytest.approx(published, abs=1e-6),
        }
        | without_differences("estimate")
    ]


def test_token_ratios_are_against_the_aligned_cell(study):
    arms = {"train_a": "stateless", "runtime_a": "persistent", "train_b": "persistent", "runtime_b": "persistent"}
    means = {"mean_a": 2000.0, "mean_b": 1000.0}
    study.statistic(
        "ratio",
        comparison_group="against_aligned",
        metric="total_tokens",
        **arms,
        **means,
        estimate=2.0,
        low=1.5,
        high=2.5,
    )
    assert study.table("token_ratios") == [
        GROUP
        | OURS
        | {
            "train_a": "stateless",
            "runtime_a": "persistent",
            "metric": "total_tokens",
            "pair_count": 2,
            "mean_a": 2000.0,
            "mean_aligned": 1000.0,
            "ratio": 2.0,
            "ratio_low": 1.5,
            "ratio_high": 2.5,
            "note": None,
            "qwen3_8b_split": "easy",
            "qwen3_8b_ratio": round(34877 / 19648, 6),
        }
        | without_differences("ratio")
    ]


def test_a_comparison_is_one_row_also_where_a_bucket_s_episodes_disagree(warehouse):
    warehouse.episode("P->P", "i1", scale="import")
    warehouse.episode("P->P", "i2", scale="paper", is_out_of_distribution=True)
    warehouse.episode("P->P", "i1", scale="import", base="other")
    warehouse.statistic("wilcoxon", **PAIR, estimate=0.25)
    assert warehouse.table("table_07") == []
    (row,) = warehouse.table("table_08")
    # an import may name the paper's scale for a part of a bucket: what is not all of it has no difference
    assert (row["measured_on"], row["difference_points_difference"]) == ("imported rows", None)
    assert cells(warehouse.table("table_02"), "episode_count", "qwen3_8b_split")["P->P"] in [(2, "hard"), (1, "easy")]
    assert len(warehouse.table("table_02")) == 2
