"""Marks of significance, the interaction beside that of the published means, and buckets that disagree."""

import pytest

from tests.sql.hand_made import GROUP, OURS, PAIR, add_pairs, cells, without_differences


@pytest.mark.parametrize(
    ("p_value", "mark"), [(0.0009, "***"), (0.001, "**"), (0.009, "**"), (0.01, "*"), (0.049, "*"), (0.05, "ns")]
)
def test_significance_marks_are_strict(warehouse, p_value, mark):
    warehouse.run()
    add_pairs(warehouse, range(20))
    warehouse.statistic("wilcoxon", **PAIR, p_value=p_value)
    assert warehouse.table("table_7")[0]["significance"] == mark


def test_few_instances_bear_no_mark(warehouse):
    warehouse.run()
    warehouse.episode("P->P", "i1", 0.9)
    warehouse.statistic("wilcoxon", **PAIR, p_value=0.0009)
    (row,) = warehouse.table("table_7")
    assert (row["significance"], row["note"]) == ("no verdict", "1 instances in P->P: a verdict needs 20")


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
            "verdict": None,
            "p_value": None,
            "p_holm": None,
            "effect_size": None,
            "note": "2 instances in P->P: a verdict needs 20",
            "qwen3_8b_split": "easy",
            "qwen3_8b_estimate": None if published is None else pytest.approx(published, abs=1e-6),
        }
        | without_differences("estimate")
    ]


def test_comparison_is_one_row_where_episodes_of_a_bucket_disagree(warehouse):
    warehouse.episode("P->P", "i1", scale="import")
    warehouse.episode("P->P", "i2", scale="paper", is_out_of_distribution=True)
    warehouse.episode("P->P", "i1", scale="import", base="other")
    warehouse.statistic("wilcoxon", **PAIR, estimate=0.25)
    assert warehouse.table("table_7") == []
    (row,) = warehouse.table("table_8")
    # an import may name the paper's scale for a part of a bucket: what is not all of it has no difference
    assert (row["measured_on"], row["difference_points_difference"]) == ("imported rows", None)
    assert cells(warehouse.table("table_2"), "episode_count", "qwen3_8b_split")["P->P"] in [(2, "hard"), (1, "easy")]
    assert len(warehouse.table("table_2")) == 2
