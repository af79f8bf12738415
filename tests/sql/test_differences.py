"""Ours minus the published value: in every table that shows both, at the paper's scale and at no other."""

import re

import pytest

from carryover.tasks.analysis.queries import table_names
from tests.flattening import flat
from tests.sql.hand_made import PAIR, REPEATING, REUSING

PUBLISHED = re.compile(r"(qwen3_8b|gemini_3_flash_easy)_(?!split|significance)")
WITH_BOTH = (
    *("table_1", "table_2", "table_3", "table_5", "table_7", "table_8", "table_9", "table_10"),
    *("failure_percentages", "figure_2", "figure_3", "interaction", "token_ratios"),
)
"""Tables with numbers of ours and of the paper in one row; Tables 4 and 6 set words beside words."""
AGAINST_ALIGNED = {
    "comparison_group": "against_aligned",
    "train_a": "persistent",
    "runtime_a": "stateless",
    "train_b": "persistent",
    "runtime_b": "persistent",
}


@pytest.fixture
def played(warehouse):
    """A function that fills the warehouse with one of everything at a scale, on Hard and on Easy."""

    def play(scale, base_model="Qwen/Qwen3-8B", teacher="gemini-3-flash-preview"):
        warehouse.run(scale=scale, base_model=base_model)
        for bucket in ("hard", "easy"):
            cell = {"scale": scale, "bucket": bucket}
            warehouse.instance("i1")
            warehouse.steps(warehouse.episode("P->P", score=0.9, step_count=3, **cell), REUSING)
            ended = warehouse.episode("P->S", score=0.5, finish_reason="max_turns", step_count=3, **cell)
            warehouse.steps(ended, REPEATING)
            for contract in ("P", "S"):
                episode = warehouse.episode(f"teacher->{contract}", score=1.0, model_name=teacher, **cell)
                name = {"P": "persistent", "S": "stateless"}[contract]
                warehouse.example(episode, name, "retained", token_count=5000, dataset_id="set")
            warehouse.statistic("wilcoxon", **PAIR, bucket=bucket, mean_a=0.9, mean_b=0.5, estimate=0.4)
            for runtime in ("persistent", "stateless"):
                ends = {"train_a": "persistent", "runtime_a": runtime, "low": 0.85, "high": 0.95}
                warehouse.statistic("mean", bucket=bucket, **ends)
            warehouse.statistic(
                "interaction", comparison_group="train_x_runtime", metric="total_tokens", bucket=bucket, estimate=10.0
            )
            warehouse.statistic("ratio", **AGAINST_ALIGNED, metric="total_tokens", bucket=bucket, estimate=2.0)
        return warehouse

    return play


def differences(row):
    return {name.removesuffix("_difference"): value for name, value in row.items() if name.endswith("_difference")}


def published_numbers(row):
    return [value for name, value in row.items() if PUBLISHED.match(name) and value is not None]


@pytest.mark.slow
def test_no_other_scale_has_a_difference(played):
    warehouse = played("laptop")
    tables = {name: warehouse.table(name) for name in table_names() if name != "table_4"}
    assert sorted(WITH_BOTH) == sorted(name for name, rows in tables.items() if any(map(published_numbers, rows)))
    for name in WITH_BOTH:
        assert all(differences(row) for row in tables[name])
        assert set(flat(differences(row).values() for row in tables[name])) == {None}


@pytest.mark.slow
def test_at_the_paper_scale_every_published_number_has_one(played):
    warehouse = played("paper")
    for name in WITH_BOTH:
        rows = warehouse.table(name)
        assert rows, name
        for row in rows:
            present = [value for value in differences(row).values() if value is not None]
            assert len(present) == len(published_numbers(row)), name


TEACHER_TABLES = ("table_1", "table_5")


@pytest.mark.parametrize(
    ("base_model", "named"),
    [
        ("/models/Qwen3-8B", "Qwen3-8B"),
        ("/hub/models--Qwen--Qwen3-8B/snapshots/0a1b2c", "Qwen3-8B"),
        ("Qwen/Qwen3-4B", "Qwen/Qwen3-4B"),
        ("other/Qwen3-8B", "other/Qwen3-8B"),
        ("/models/mine/", "mine"),
    ],
)
def test_only_the_paper_base_has_a_difference_under_its_name(played, base_model, named):
    warehouse = played("paper", base_model=base_model)
    for name in ("table_2", "table_8", "figure_3", "interaction"):
        rows = warehouse.table(name)
        assert {row["measured_on"] for row in rows} == {f"paper, {named}"}, name
        has_differences = set(flat(differences(row).values() for row in rows)) != {None}
        assert has_differences == (named == "Qwen3-8B"), name


@pytest.mark.parametrize(
    ("scale", "teacher", "measured_on", "has_differences"),
    [
        ("paper", "google/gemini-3-flash-preview", "paper, Gemini 3 Flash", True),
        ("paper", "gpt-9", "paper, gpt-9", False),
        ("laptop", "scripted", "laptop, not Gemini 3 Flash", False),
        ("laptop", "gemini-3-flash-preview", "laptop, Gemini 3 Flash", False),
    ],
)
def test_tables_of_a_teacher_name_it(played, scale, teacher, measured_on, has_differences):
    warehouse = played(scale, teacher=teacher)
    for name in TEACHER_TABLES:
        rows = warehouse.table(name)
        assert {row["measured_on"] for row in rows} == {measured_on}
        assert (set(flat(differences(row).values() for row in rows)) != {None}) == has_differences


@pytest.mark.parametrize("title", [None, "SmolLM2-135M-Instruct, dequantized from Q4_1"])
def test_rows_of_a_pretrained_base_name_it_as_its_card_does(warehouse, title):
    warehouse.run(scale="pretrained", base_model="/models/smollm2", base_title=title)
    warehouse.instance("i1")
    warehouse.episode("P->P", base="hub", scale="pretrained", bucket="hard")
    (row,) = warehouse.table("table_2")
    assert row["measured_on"] == f"pretrained, {title or 'smollm2'}"
    assert set(differences(row).values()) == {None}


def test_evaluated_scripted_teacher_stands_under_its_own_name(warehouse):
    warehouse.run(scale="paper")
    warehouse.instance("i1")
    warehouse.episode("base->P", base="teacher", model_name="scripted", scale="paper", bucket="hard")
    (row,) = warehouse.table("table_2")
    assert row["measured_on"] == "paper, scripted"
    assert set(differences(row).values()) == {None}


def test_differences_of_a_hard_cell_are_ours_minus_published(played):
    warehouse = played("paper")

    def row(name, **values):
        (found,) = [row for row in warehouse.table(name) if values.items() <= row.items()]
        return differences(found)

    aligned = {"bucket": "hard", "condition": "P->P"}
    # one episode: score 0.9, 3 steps, 1,000 tokens, 2 seconds, ended normally without an error
    assert row("table_2", **aligned) == {
        "score_pct": 14.6,
        "score_ci_half_width_pct": round(5 - 4.7, 6),
        "solved_pct": -7,
        "mean_steps": round(3 - 3.42, 6),
        "mean_total_tokens": 1000 - 18612,
        "mean_seconds": -27.6,
        "score_per_1k_total_tokens": 85.95,
    }
    assert row("table_3", **aligned) == {
        "missing_name_episode_pct": 0,
        "missing_names_per_episode": 0,
        "normally_ended_not_optimal_pct": 100 - 91,
        "violation_pct": -13,
        "instability_pct": -34,
        "silent_suboptimality_pct": 100 - 44,
        "not_normally_ended_unsolved_pct": -2,
    }
    behaviour = {
        "context_lifespan": round(7 / 3 - 2.05, 6),
        "interpreter_lifespan": round(8 / 3 - 2.32, 6),
        "imports_per_step": round(1 / 3 - 0.31, 6),
        "state_utilization": round(1 - 1.11, 6),
    }
    redefinitions = {"redefinitions_per_step": round(1 / 3 - 7.01, 6)}
    assert row("table_10", **aligned) == {"mean_turns": round(3 - 3.42, 6), **behaviour, **redefinitions}
    assert row("figure_3", **aligned) == behaviour
    assert row("figure_2", **aligned) == {"mean_total_tokens": 1000 - 18612, "score_pct": 14.6}
    mismatched = {"bucket": "hard", "condition": "P->S", "category": "turn_or_context_exhaustion"}
    assert row("failure_percentages", **mismatched) == {"unsolved_pct": 88.4}
    assert row("table_8") == {
        "mean_a_pct": round(90 - 75.38, 6),
        "mean_b_pct": round(50 - 68.21, 6),
        "difference_points": round(40 - 7.17, 6),
    }
    assert row("interaction", bucket="hard") == {"estimate": 10 - ((18612 - 67925) - (54665 - 67898))}
    assert row("token_ratios", bucket="hard") == {"ratio": round(2 - 67925 / 18612, 6)}
    assert row("table_1", bucket="easy", metric="teacher_success_rate") == {
        "persistent": round(100 - 17.8, 6),
        "stateless": round(100 - 22.8, 6),
        "stateless_over_persistent": round(1 - 22.8 / 17.8, 6),
    }
    assert row("table_5", bucket="easy", metric="max_tokens") == {
        "persistent": 5000 - 13008,
        "stateless": 5000 - 16278,
    }
