"""Tables 5 and 6: training sets and endings, beside the paper and as rare as they come."""

import pytest

from carryover.tasks.traces.training_rows import TrainingOverlapRow


def test_table_5_counts_and_weighs_the_training_sets(warehouse):
    statuses = [("retained", 100), ("retained", 300), ("skipped", None), ("unprocessed", None)]
    for status, tokens in statuses:
        reason = "zombie_loop" if status == "skipped" else None
        seen = None if tokens is None else tokens + 10
        values = {"token_count": tokens, "sequence_token_count": seen, "reason": reason, "dataset_id": "set"}
        warehouse.example(warehouse.episode("teacher->P", injected_fault_count=3), "persistent", status, **values)
    warehouse.example(warehouse.episode("teacher->S"), "stateless", "retained", token_count=500, dataset_id="set")
    warehouse.add(
        TrainingOverlapRow(
            run_id="run", dataset_id="set", variant="main", contract="persistent",
            other_contract="stateless", instance_count=2, other_instance_count=1, shared_count=1,
        )
    )  # fmt: skip
    rows = {row["metric"]: row for row in warehouse.table("table_5")}
    assert rows["zombie_loop"] == {
        "variant": "main",
        "dataset_id": "set",
        "bucket": "small",
        "text_format": "paper",
        "retention": "keep_first",
        "matching": "episodes",
        "section": "skip_reason",
        "metric": "zombie_loop",
        "measured_on": "laptop, not Gemini 3 Flash",
        "persistent": 1.0,
        "stateless": 0.0,
        "stateless_minus_persistent": -1.0,
        "gemini_3_flash_easy_persistent": 0.0,
        "gemini_3_flash_easy_stateless": 12.0,
        "persistent_difference": None,
        "stateless_difference": None,
    }
    ours = {metric: (row["persistent"], row["stateless"]) for metric, row in rows.items()}
    assert ours == {
        "traces_available": (4.0, 1.0),
        "processed_until_cap": (3.0, 1.0),
        "retained": (2.0, 1.0),
        "skipped_within_processed": (1.0, 0.0),
        "unprocessed_due_to_cap": (1.0, 0.0),
        "retained_over_processed": (66.666667, 100.0),
        "retained_over_available": (50.0, 100.0),
        "truncated": (0.0, 0.0),
        "min_tokens": (100.0, 500.0),
        "max_tokens": (300.0, 500.0),
        "mean_tokens": (200.0, 500.0),
        "total_tokens": (400.0, 500.0),
        "total_sequence_tokens": (420.0, None),
        "injected_faults": (6.0, 0.0),
        "zombie_loop": (1.0, 0.0),
        "score_too_low": (0.0, 0.0),
        "high_error_density": (0.0, 0.0),
        "shared_instances": (1.0, 1.0),
    }


DATASET = ("variant", "dataset_id", "bucket", "text_format", "retention", "matching")


def test_table_5_tells_one_training_set_after_the_other(warehouse):
    plain = {"variant": "main", "dataset_id": "set", "text_format": "paper"}
    for values in (
        {"matching": "tokens"},
        {"retention": "paired"},
        {"text_format": "exact_wire"},
        {"bucket": "a bucket"},
        {"dataset_id": "a set"},
        {"variant": "a variant"},
        {},
    ):
        told = {**plain, **values}
        bucket = told.pop("bucket", "small")
        episode = warehouse.episode("teacher->P", variant=told["variant"], bucket=bucket)
        warehouse.example(episode, "persistent", "retained", **told)
    rows = warehouse.table("table_5")
    sets = [tuple(row[column] for column in DATASET) for row in rows]
    assert sets == sorted(sets)
    assert len(set(sets)) == 7
    metrics = [(row["section"], row["metric"]) for row in rows if row["bucket"] == "a bucket"]
    sections = [section for section, _ in metrics]
    assert sections == sorted(sections, reverse=True)
    assert all(metrics[i] < metrics[i + 1] for i in range(len(metrics) - 1) if sections[i] == sections[i + 1])


@pytest.mark.parametrize(
    ("variant", "bucket", "published", "difference"),
    [("main", "easy", 250, -250), ("main", "hard", None, None), ("no_faults", "easy", None, None)],
)
def test_table_5_stands_beside_the_paper_on_easy_alone(warehouse, variant, bucket, published, difference):
    episode = warehouse.episode("teacher->S", variant=variant, bucket=bucket, scale="paper")
    warehouse.example(episode, "stateless", "retained", token_count=1, variant=variant)
    (row,) = [row for row in warehouse.table("table_5") if row["metric"] == "score_too_low"]
    assert (row["stateless"], row["gemini_3_flash_easy_stateless"], row["stateless_difference"]) == (
        0, published, difference,
    )  # fmt: skip


def test_table_6_has_zeros_for_signals_that_never_occurred(study):
    rows = study.table("table_6")
    published = {row["finish_signal"] for row in study.sql("from published.table_6 where finish_signal is not null")}
    assert {row["condition"] for row in rows} == {"P->P", "P->S", "common->P"}
    for condition in ("P->P", "P->S", "common->P"):
        own = [row for row in rows if row["condition"] == condition]
        assert {row["finish_reason"] for row in own} == published | {"timeout", "other"}
        assert sum(row["episode_share"] for row in own) == 1
    (never,) = [row for row in rows if row["condition"] == "P->P" and row["finish_reason"] == "tool_error"]
    assert (never["episode_count"], never["unsolved_count"], never["episode_share"]) == (0, 0, 0.0)
    assert (never["finish_category"], never["published_category"]) == ("abnormal", "abnormal")


def test_unlisted_signal_is_other_and_stands_in_table_6(warehouse):
    warehouse.episode(finish_reason="error")
    warehouse.connection.execute("update main.episodes set finish_reason = 'gave_up'")
    counts = {
        row["finish_reason"]: (row["episode_count"], row["finish_category"]) for row in warehouse.table("table_6")
    }
    assert counts["gave_up"] == (1, "other")
    assert counts["error"] == (0, "abnormal")


def test_timeout_is_its_own_category_and_budget_in_table_6(warehouse):
    warehouse.episode(finish_reason="timeout")
    (row,) = [row for row in warehouse.table("table_6") if row["episode_count"]]
    assert (row["finish_category"], row["table_6_category"], row["published_category"]) == (
        "timeout",
        "budget_exhaustion",
        None,
    )
