"""Counts, sums, means and medians over a cell whose episodes differ, beside those that Python computes."""

from statistics import fmean, median

import pytest

from tests.sql.hand_made import REPEATING, REUSING

BLOCKS = [REUSING, REPEATING, [("x = (", []), ("import os", [])], [("x = 1", ["x"])] * 5, REUSING[:2], REUSING * 2]
EPISODES = [
    {"score": 1.0, "prompt_tokens": 900, "cached_prompt_tokens": 100, "completion_tokens": 10, "wall_seconds": 1.0},
    {"score": 0.9, "prompt_tokens": 950, "cached_prompt_tokens": 150, "completion_tokens": 12, "wall_seconds": 1.5},
    {"score": 0.0, "prompt_tokens": 9000, "cached_prompt_tokens": 10, "completion_tokens": 900, "wall_seconds": 9.0},
    {"score": 0.1, "prompt_tokens": 800, "cached_prompt_tokens": 180, "completion_tokens": 15, "wall_seconds": 1.1},
    {"score": 0.7, "prompt_tokens": 700, "cached_prompt_tokens": 190, "completion_tokens": 17, "wall_seconds": 1.2},
    {"score": 1.0, "prompt_tokens": 650, "cached_prompt_tokens": 170, "completion_tokens": 19, "wall_seconds": 1.3},
]
MISSING = "NameError: name 'x' is not defined"
MISSED = [0, 1, 5, 0, 1, 0]
ENDED = ["finish_tool", "finish_tool", "max_turns", "finish_tool", "finish_tool", "finish_tool"]
MEANS = {
    "mean_steps": "step_count",
    "mean_total_tokens": "total_tokens",
    "mean_prompt_tokens": "prompt_tokens",
    "mean_cached_prompt_tokens": "cached_prompt_tokens",
    "mean_completion_tokens": "completion_tokens",
    "mean_seconds": "wall_seconds",
    "missing_names_per_episode": "missing_name_count",
    "context_lifespan": "context_lifespan",
    "interpreter_lifespan": "interpreter_lifespan",
    "imports_per_step": "imports_per_step",
    "state_utilization": "state_utilization",
    "redefinitions_per_step": "redefinitions_per_step",
    "state_footprint": "state_footprint",
}
READING_MEANS = ("context_lifespan", "interpreter_lifespan", "state_utilization", "redefinitions_per_step")


@pytest.fixture
def study(warehouse):
    """Six episodes of P->P, of seeds 0 and 1 and three instances."""
    warehouse.run()
    for number, values in enumerate(EPISODES):
        place = {"instance_id": f"i{number // 2}", "training_seed": number % 2, "step_count": len(BLOCKS[number])}
        episode = warehouse.episode("P->P", **place, **values, finish_reason=ENDED[number])
        warehouse.steps(episode, BLOCKS[number])
        for step in range(1, 1 + MISSED[number]):
            warehouse.error(episode, step, MISSING)
    return warehouse


def column(rows, name):
    """Return the known values of a column."""
    return [row[name] for row in rows if row[name] is not None]


def test_a_cell_has_the_means_of_its_episodes(study):
    episodes = study.sql("from marts.episode_metrics")
    (cell,) = study.sql("from marts.evaluated_cells")
    for mean, metric in MEANS.items():
        values = column(episodes, metric)
        assert fmean(values) != pytest.approx(median(values)), metric
        assert cell[mean] == pytest.approx(fmean(values)), mean
    assert cell["score_pct"] == pytest.approx(100 * fmean(column(episodes, "score")))
    assert cell["solved_pct"] == pytest.approx(100 * 2 / 6)
    assert cell["missing_name_episode_pct"] == pytest.approx(100 * 3 / 6)
    assert cell["missing_names_per_affected_episode"] == pytest.approx(7 / 3)


def test_a_cell_has_the_medians_of_its_episodes_and_the_means_of_those_that_ended(study):
    (cell,) = study.sql("from marts.evaluated_cells")
    assert cell["median_score_pct"] == pytest.approx(80)
    assert cell["median_tokens"] == pytest.approx((815 + 910) / 2)
    # without the third, which ended at its last turn
    assert cell["score_of_ended_pct"] == pytest.approx(100 * 3.7 / 5)
    assert cell["mean_tokens_of_ended"] == pytest.approx((910 + 962 + 815 + 717 + 669) / 5)


def test_a_cell_counts_its_episodes(study):
    (cell,) = study.sql("from marts.evaluated_cells")
    counts = {name: count for name, count in cell.items() if name.endswith(("_count", "_turns", "_total"))}
    assert {name: count for name, count in counts.items() if not name.startswith("qwen3_8b")} == {
        "episode_count": 6,
        "ended_count": 5,
        "instance_count": 3,
        "seed_count": 2,
        "solved_count": 2,
        "total_turns": 3 + 3 + 2 + 5 + 2 + 6,
        "missing_name_total": 7,
        "optimal_count": 2,
        "normally_ended_not_optimal_count": 3,
        "capacity_violation_count": 0,
        "class_violation_count": 0,
        "protocol_violation_count": 0,
        "violation_count": 0,
        "instability_count": 0,
        "silent_suboptimality_count": 3,
        "not_normally_ended_count": 1,
        "unparsed_step_count": 1,
    }


def test_a_reading_has_the_means_of_its_episodes(study):
    episodes = study.sql("from marts.episode_behaviour")
    for cell in study.sql("from marts.reading_means"):
        of_reading = [row for row in episodes if row["reading"] == cell["reading"]]
        for metric in READING_MEANS:
            assert cell[metric] == pytest.approx(fmean(column(of_reading, metric))), (cell["reading"], metric)
            assert cell[metric] != pytest.approx(median(column(of_reading, metric))), (cell["reading"], metric)


def test_table_1_has_the_means_of_the_teachers_episodes(warehouse):
    skewed = (2, 3, 40)
    counted = {
        "avg_items_inspected": "inspected_count",
        "avg_steps_per_episode": "step_count",
        "avg_tool_calls_per_episode": "call_site_count",
        "avg_executed_calls_per_episode": "executed_call_count",
        "avg_prompt_tokens_per_episode": "prompt_tokens",
        "avg_cached_prompt_tokens_per_episode": "cached_prompt_tokens",
        "avg_completion_tokens_per_episode": "completion_tokens",
        "avg_training_tokens_per_episode": "training_tokens",
        "avg_injected_faults_per_episode": "injected_fault_count",
    }
    for number, value in enumerate(skewed):
        warehouse.instance(f"i{number}", capacity=100)
        values = dict.fromkeys(counted.values(), value)
        score = value / 100 if value < 40 else 1.0
        warehouse.episode("teacher->P", f"i{number}", score, weight_taken=value, **values)
    rows = {row["metric"]: row["persistent"] for row in warehouse.table("table_1")}
    assert rows == dict.fromkeys(counted, 15.0) | {
        "avg_capacity_utilization": 15.0,
        "avg_total_tokens_per_episode": 30.0,
        "avg_teacher_optimality": 0.35,
        "teacher_success_rate": 33.333333,
        "episode_count": 3.0,
    }


def test_token_costs_of_a_cell_are_ratios_of_means_and_the_median_of_ratios(warehouse):
    """P->S costs twice, twice and six times as much; the last pair of them did not end."""
    for number, (aligned, ratio) in enumerate(((100, 2), (300, 2), (200, 6))):
        ended = "max_turns" if ratio == 6 else "finish_tool"
        told = {"instance_id": f"i{number}", "completion_tokens": 0}
        warehouse.episode("P->P", **told, prompt_tokens=aligned)
        warehouse.episode("P->S", **told, prompt_tokens=ratio * aligned, finish_reason=ended)
    warehouse.episode("P->P", "i3", prompt_tokens=400, completion_tokens=0, finish_reason="max_turns")
    warehouse.episode("P->S", "i3", prompt_tokens=4000, completion_tokens=0)
    (row,) = warehouse.table("token_sensitivity")
    assert (row["pair_count"], row["unfinished_count"], row["aligned_unfinished_count"]) == (4, 1, 1)
    assert (row["finished_pair_count"], row["ratio_of_all"]) == (2, 6.0)
    assert (row["ratio_of_finished"], row["median_ratio"]) == (2.0, 4.0)


def test_an_episode_of_a_family_is_counted_once_by_its_metrics(warehouse):
    """Only evaluations that count, of the asked plan, and the mean of their numbers."""
    for number, coins in enumerate((1, 1, 7)):
        warehouse.episode("P->P", f"i{number}", family="boxes", metrics_json=f'{{"coins": {coins}}}')
    nowhere = {"family": "boxes", "metrics_json": '{"coins": 99}'}
    warehouse.episode("P->P", "i4", plan_digest="other", **nowhere)
    warehouse.episode("P->P", "i5", finish_reason="error", **nowhere)
    warehouse.episode("teacher->P", "i6", **nowhere)
    warehouse.episode("P->P", "i7", family="boxes")
    (row,) = warehouse.table("family_metrics")
    assert (row["metric"], row["episode_count"], row["mean"]) == ("coins", 3, 3.0)


def test_each_class_of_failure_is_counted_by_itself(warehouse):
    classes = {
        "optimal": (1.0, []),
        "violation": (0.5, [("tool", "already taken")]),
        "instability": (0.5, [("interpreter", MISSING)] * 3),
        "silent_suboptimality": (0.5, []),
        "unclassified": (None, []),
    }
    number = 0
    for count, (score, errors) in enumerate(classes.values(), start=1):
        for _ in range(count):
            number += 1
            episode = warehouse.episode("P->P", f"i{number}", score, step_count=4)
            for step, (kind, message) in enumerate(errors, start=1):
                warehouse.error(episode, step, message, kind)
    for extra in range(6):
        warehouse.episode("P->P", f"j{extra}", 0.5, finish_reason="max_turns")
    (row,) = warehouse.sql("from marts.failure_counts where is_default")
    counts = {name.removesuffix("_count"): count for name, count in row.items() if name.endswith("_count")}
    assert counts == dict(zip([*classes, "not_normally_ended"], range(1, 7), strict=True))


def test_what_does_not_count_is_in_no_cell(warehouse):
    """A failed attempt, the one before it, a teacher, and another plan of the same cell."""
    warehouse.episode("P->P", "i1", 0.5)
    warehouse.episode("P->P", "i2", 0.0, finish_reason="error")
    warehouse.episode("P->P", "i3", 0.5, attempt=1)
    warehouse.episode("P->P", "i3", 0.0, attempt=0)
    warehouse.episode("P->P", "i1", 0.0, purpose="teacher")
    warehouse.episode("P->P", "i1", 1.0, plan_digest="other")
    (cell, _) = warehouse.sql("from marts.evaluated_cells order by plan_digest desc")
    assert (cell["plan_digest"], cell["episode_count"], cell["score_pct"]) == ("plan", 2, 50)
    counts = warehouse.sql("from marts.failure_counts where plan_digest = 'plan'")
    assert {row["silent_suboptimality_count"] for row in counts} == {2}
    assert {row["condition"] for row in warehouse.sql("from marts.reading_means")} == {"P->P"}
