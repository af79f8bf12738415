"""Tables 9 and 10, the readings of lost definitions and the data behind the figures; exact rows, by hand."""

from tests.sql.hand_made import GROUP, OURS, cells, without_differences

BEHAVIOUR = ("context_lifespan", "interpreter_lifespan", "imports_per_step", "state_utilization")


def test_table_9_has_the_behaviour_of_a_cell(study):
    rows = study.table("table_09")
    assert rows[0] == GROUP | OURS | {
        "model": "sft",
        "condition": "P->P",
        "episode_count": 2,
        "total_turns": 4,
        "context_lifespan": 1.666667,  # (7/3 + 1) / 2
        "interpreter_lifespan": 1.833333,  # (8/3 + 1) / 2
        "imports_per_step": 0.166667,
        "state_utilization": 0.5,
        "redefinitions_per_step": 0.166667,
        "state_footprint": 2.0,
        "unparsed_step_count": 0,
        "qwen3_8b_split": "easy",
        "qwen3_8b_total_turns": 350,
        "qwen3_8b_context_lifespan": 2.23,
        "qwen3_8b_interpreter_lifespan": 2.41,
        "qwen3_8b_imports_per_step": 0.29,
        "qwen3_8b_state_utilization": 1.21,
        "qwen3_8b_redefinitions_per_step": 7.04,
    } | without_differences("mean_turns", *BEHAVIOUR, "redefinitions_per_step")
    # the second episode of P->S has no recorded steps: no names that live, and nothing to divide imports by
    assert cells(rows, "context_lifespan", "imports_per_step", "state_utilization")["P->S"] == (1.5, 0.666667, 0.0)


def test_table_10_is_about_the_held_out_bucket(study):
    study.episode("P->P", is_out_of_distribution=True, bucket="small_large")
    assert cells(study.table("table_10"), "episode_count", "qwen3_8b_split", "qwen3_8b_imports_per_step") == {
        "P->P": (1, "hard", 0.31)
    }


def test_failure_percentages_are_of_unsolved_episodes(study):
    rows = study.table("failure_percentages")
    assert rows[6] == GROUP | OURS | {
        "model": "sft",
        "condition": "P->S",
        "category": "silent_suboptimality",
        "episode_count": 1,
        "cell_unsolved_count": 2,
        "unsolved_pct": 50.0,
        "qwen3_8b_hard_unsolved_pct": None,
        "unsolved_pct_difference": None,
    }
    shares = {(row["condition"], row["category"]): row["unsolved_pct"] for row in rows}
    assert len(shares) == len(rows) == 3 * 4
    assert {ending: share for ending, share in shares.items() if share} == {
        ("P->P", "silent_suboptimality"): 100.0,
        ("P->S", "silent_suboptimality"): 50.0,
        ("P->S", "turn_or_context_exhaustion"): 50.0,
        ("common->P", "silent_suboptimality"): 100.0,
    }


def test_a_category_that_no_episode_ended_in_is_zero_beside_the_published_share(warehouse):
    warehouse.instance("i1")
    warehouse.run(scale="paper")
    warehouse.episode("P->S", score=0.5, scale="paper", bucket="hard", is_out_of_distribution=True)
    rows = {row["category"]: row for row in warehouse.table("failure_percentages")}
    columns = (
        "episode_count",
        "cell_unsolved_count",
        "unsolved_pct",
        "qwen3_8b_hard_unsolved_pct",
        "unsolved_pct_difference",
    )
    assert {category: tuple(row[column] for column in columns) for category, row in rows.items()} == {
        "cascading_execution_failure": (0, 1, 0.0, 57.0, -57.0),
        "protocol_or_sequencing_violation": (0, 1, 0.0, 12.8, -12.8),
        "silent_suboptimality": (1, 1, 100.0, 18.6, 81.4),
        "turn_or_context_exhaustion": (0, 1, 0.0, 11.6, -11.6),
    }


def test_failure_sensitivity_has_a_row_per_cell_and_reading(study):
    rows = study.table("failure_sensitivity")
    assert len(rows) == 3 * 18
    chosen = [row for row in rows if row["cell"] == "P->S" and row["reading"] == "k=3 density=0.3"]
    assert chosen == [
        GROUP
        | OURS
        | {
            "model": "sft",
            "cell": "P->S",
            "reading": "k=3 density=0.3",
            "is_sensitivity": True,
            "is_default": False,
            "optimal_count": 0,
            "violation_count": 0,
            "instability_count": 1,  # one error in three steps is more than 0.3
            "silent_suboptimality_count": 0,
            "unclassified_count": 0,
            "not_normally_ended_count": 1,
        }
    ]


def test_behaviour_readings_start_with_the_default(study):
    rows = [row for row in study.table("behaviour_readings") if row["cell"] == "P->P"]
    assert [row["reading"] for row in rows][:2] == ["appendix_f", "distinct_redefinitions"]
    assert rows[-1] == GROUP | OURS | {
        "model": "sft",
        "cell": "P->P",
        "reading": "next_step_counts",
        "is_default": False,
        "context_lifespan": 1.666667,
        "interpreter_lifespan": 1.833333,
        "state_utilization": 2.0,
        "redefinitions_per_step": 0.166667,
    }


def test_figure_2_has_a_point_per_cell(study):
    study.statistic("mean", train_a="persistent", runtime_a="persistent", low=0.5, high=1.0)
    study.statistic("mean", metric="total_tokens", train_a="persistent", runtime_a="persistent", low=900.0, high=1100.0)
    rows = study.table("figure_2")
    assert rows[0] == GROUP | OURS | {
        "model": "sft",
        "condition": "P->P",
        "mean_total_tokens": 1000.0,
        "mean_total_tokens_low": 900.0,
        "mean_total_tokens_high": 1100.0,
        "score_pct": 75.0,
        "score_pct_low": 50.0,
        "score_pct_high": 100.0,
        "qwen3_8b_split": "easy",
        "qwen3_8b_mean_total_tokens": 19648,
        "qwen3_8b_score_pct": 81.1,
    } | without_differences("mean_total_tokens", "score_pct")
    assert cells(rows, "mean_total_tokens") == {"P->P": (1000.0,), "P->S": (3500.0,), "common->P": (1000.0,)}


def test_figure_3_has_the_trained_cells_only(study):
    rows = study.table("figure_3")
    assert [row["condition"] for row in rows] == ["P->P", "P->S"]
    assert rows[0] == GROUP | OURS | {
        "condition": "P->P",
        "state_utilization": 0.5,
        "imports_per_step": 0.166667,
        "context_lifespan": 1.666667,
        "interpreter_lifespan": 1.833333,
        "qwen3_8b_split": "easy",
        "qwen3_8b_state_utilization": 1.21,
        "qwen3_8b_imports_per_step": 0.29,
        "qwen3_8b_context_lifespan": 2.23,
        "qwen3_8b_interpreter_lifespan": 2.41,
    } | without_differences(*BEHAVIOUR)
