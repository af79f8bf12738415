"""Tables 1 to 3 and the failures of unsolved episodes, beside the paper and where an episode does not count."""

from datetime import UTC, datetime

import pytest

from carryover.tasks.analysis.statistic_rows import GROUP_COLUMNS
from carryover.tasks.traces.rows import EpisodeRow
from tests.sql.hand_made import GROUP, cells, without_differences


def test_table_1_sets_teachers_side_by_side(warehouse):
    for instance_id in ("i1", "i2"):
        warehouse.instance(instance_id)
    warehouse.episode("teacher->P", "i1", 1.0, training_tokens=900)
    warehouse.episode("teacher->P", "i2", 0.5, inspected_count=6, injected_fault_count=1, training_tokens=1100)
    warehouse.episode("teacher->S", score=0.5, prompt_tokens=3900, weight_taken=30)
    rows = {row["metric"]: row for row in warehouse.table("table_1")}
    assert rows["teacher_success_rate"] == {
        "variant": "main",
        "bucket": "small",
        "metric": "teacher_success_rate",
        "unit": "percent",
        "measured_on": "laptop, not Gemini 3 Flash",
        "persistent": 50.0,
        "stateless": 0.0,
        "stateless_over_persistent": 0.0,
        "gemini_3_flash_easy_persistent": 17.8,
        "gemini_3_flash_easy_stateless": 22.8,
        "gemini_3_flash_easy_stateless_over_persistent": 1.280899,
    } | without_differences("persistent", "stateless", "stateless_over_persistent")
    ours = {metric: (row["persistent"], row["stateless"]) for metric, row in rows.items()}
    assert ours == {
        "teacher_success_rate": (50.0, 0.0),
        "avg_teacher_optimality": (0.75, 0.5),
        "avg_capacity_utilization": (40.0, 60.0),
        "avg_items_inspected": (7.0, 8.0),
        "avg_steps_per_episode": (4.0, 4.0),
        "avg_tool_calls_per_episode": (6.0, 6.0),
        "avg_executed_calls_per_episode": (12.0, 12.0),
        "avg_total_tokens_per_episode": (1000.0, 4000.0),
        "avg_prompt_tokens_per_episode": (900.0, 3900.0),
        "avg_cached_prompt_tokens_per_episode": (600.0, 600.0),
        "avg_completion_tokens_per_episode": (100.0, 100.0),
        "avg_training_tokens_per_episode": (1000.0, None),
        "avg_injected_faults_per_episode": (0.5, 0.0),
        "episode_count": (2.0, 1.0),
    }


@pytest.mark.parametrize(
    ("variant", "bucket", "published", "difference"),
    [("main", "easy", 17.8, 82.2), ("main", "hard", None, None), ("no_faults", "easy", None, None)],
)
def test_table_1_stands_beside_the_paper_on_easy_alone(warehouse, variant, bucket, published, difference):
    warehouse.episode("teacher->P", score=1.0, variant=variant, bucket=bucket, scale="paper")
    (row,) = [row for row in warehouse.table("table_1") if row["metric"] == "teacher_success_rate"]
    assert (row["gemini_3_flash_easy_persistent"], row["persistent_difference"]) == (published, difference)


def test_metric_of_table_1_keeps_its_unit_when_unpublished(warehouse):
    warehouse.episode("teacher->P", variant="main")
    warehouse.episode("teacher->P", "i2", variant="no_faults")
    units = {
        variant: {row["metric"]: row["unit"] for row in warehouse.table("table_1") if row["variant"] == variant}
        for variant in ("main", "no_faults")
    }
    assert units["no_faults"] == units["main"]
    assert units["main"]["avg_teacher_optimality"] == "fraction"
    assert units["main"]["avg_executed_calls_per_episode"] == "calls"
    assert units["main"]["episode_count"] == "episodes"


def test_rows_at_the_paper_scale_stand_beside_their_split(warehouse):
    warehouse.instance("i1")
    warehouse.run(scale="paper")
    warehouse.episode("P->P", score=0.9, scale="paper", base="hub", bucket="hard", is_out_of_distribution=True)
    row = warehouse.table("table_2")[0]
    assert (row["measured_on"], row["qwen3_8b_split"]) == ("paper, Qwen3-8B", "hard")


def test_an_ablation_stands_beside_no_published_value(warehouse):
    warehouse.instance("i1")
    for values in ({"variant": "no_faults"}, {"visibility": "as_trained"}, {"header": "none"}):
        warehouse.episode("P->P", **values)
    assert [row["qwen3_8b_score_pct"] for row in warehouse.table("table_2")] == [None, None, None]


def test_only_the_last_attempt_of_an_episode_counts(warehouse):
    warehouse.instance("i1")
    warehouse.episode("P->P", score=0.0, finish_reason="error", attempt=0)
    warehouse.episode("P->P", score=0.8, attempt=1)
    assert cells(warehouse.table("table_2"), "episode_count", "score_pct") == {"P->P": (1, 80.0)}


def test_only_the_new_one_of_a_retrained_model_counts(warehouse):
    warehouse.instance("i1")
    warehouse.episode("P->P", score=0.0, finish_reason="error", model_digest="old", attempt=0)
    warehouse.episode("P->P", score=0.2, model_digest="old", attempt=1)
    later = datetime(2030, 1, 1, tzinfo=UTC)
    warehouse.episode("P->P", score=0.8, model_digest="new", attempt=0, started_at=later)
    assert cells(warehouse.table("table_2"), "episode_count", "score_pct") == {"P->P": (1, 80.0)}


def test_comparisons_are_within_what_makes_one_episode():
    assert set(GROUP_COLUMNS) < set(EpisodeRow.SAME_EPISODE)


def test_finally_failed_episode_is_shown_by_table_6_alone(warehouse):
    warehouse.instance("i1")
    warehouse.episode("P->P", score=0.8)
    warehouse.episode("P->P", "i2", score=0.0, finish_reason="error")
    assert cells(warehouse.table("table_2"), "episode_count", "score_pct") == {"P->P": (1, 80.0)}
    counts = {row["finish_reason"]: row["episode_count"] for row in warehouse.table("table_6")}
    assert {reason: count for reason, count in counts.items() if count} == {"finish_tool": 1, "error": 1}


def test_an_imported_error_is_an_ending_like_any_other(warehouse):
    warehouse.instance("i1")
    warehouse.episode("P->P", score=0.8, backend="imported")
    warehouse.episode("P->P", "i2", score=0.2, backend="imported", finish_reason="error")
    assert cells(warehouse.table("table_2"), "episode_count", "score_pct") == {"P->P": (2, 50.0)}


def test_scripted_teacher_among_models_stands_beside_no_published_base(warehouse):
    warehouse.instance("i1")
    warehouse.episode("base->P", score=0.1)
    warehouse.episode("base->P", score=0.9, base="teacher", model_name="scripted")
    assert cells(warehouse.table("table_2"), "model", "score_pct", "qwen3_8b_score_pct") == {
        "common->P": ("base", 10.0, 7.7),
        "teacher->P": ("teacher", 90.0, None),
    }


def test_table_3_of_a_held_out_bucket_stands_beside_hard(warehouse):
    warehouse.instance("i1")
    warehouse.episode("P->S", is_out_of_distribution=True, bucket="small_large")
    row = warehouse.table("table_3")[0]
    assert {key: value for key, value in row.items() if key.startswith("qwen3_8b_hard_")} == {
        "qwen3_8b_hard_missing_name_episode_pct": 80,
        "qwen3_8b_hard_missing_names_per_episode": 1.28,
        "qwen3_8b_hard_normally_ended_not_optimal_count": 76,
        "qwen3_8b_hard_violation_count": 11,
        "qwen3_8b_hard_instability_count": 49,
        "qwen3_8b_hard_silent_suboptimality_count": 16,
        "qwen3_8b_hard_not_normally_ended_count": 10,
    }


@pytest.mark.parametrize(
    ("bucket", "is_told"), [("small", True), ("small_large", True), ("hard", True), ("easy", False)]
)
def test_published_values_of_hard_stand_beside_hard_and_own_buckets(warehouse, bucket, is_told):
    warehouse.episode("P->S", score=0.5, bucket=bucket, is_out_of_distribution=bucket in {"small_large", "hard"})
    (row,) = warehouse.table("table_3")
    assert row["qwen3_8b_hard_missing_name_episode_pct"] == (80 if is_told else None)
    rows = {row["category"]: row for row in warehouse.table("failure_percentages")}
    published = rows["cascading_execution_failure"]["qwen3_8b_hard_unsolved_pct"]
    assert published == (57.0 if is_told else None)


@pytest.mark.parametrize("values", [{"is_injected": True}, {"is_caught": True}, {"kind": "tool"}])
def test_injected_caught_and_tool_errors_are_no_missing_names(warehouse, values):
    warehouse.error(warehouse.episode("P->S"), 1, "NameError: name 'ids' is not defined", **values)
    assert warehouse.table("table_3")[0]["missing_name_total"] == 0


def test_columns_come_in_the_same_order_for_every_cell_table(study):
    for name in ("table_2", "table_3", "table_6", "table_9", "figure_2", "failure_percentages"):
        assert list(study.table(name)[0])[:8] == [*GROUP, "model", "condition", "measured_on"]


def test_category_without_episodes_is_zero_beside_the_published_share(warehouse):
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
