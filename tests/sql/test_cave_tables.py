"""CaveAgent's tables on turns made by hand: ours beside the published values, the last attempt alone, both ways."""

import pytest

from carryover.tasks.traces.result_rows import CaveTurnRow


@pytest.fixture
def turn(warehouse):
    """Add a turn; what is not given is that of a passed turn of the token study."""

    def add(case="c1", arm="json", question=1, attempt=0, passed=True, **values):
        fields = {
            "run_id": "run", "episode_id": f"{case} {arm} {attempt}", "plan_digest": "plan", "attempt": attempt,
            "suite": "token_efficiency", "tier": "iot", "case_id": case, "source": "generated", "question": question,
            "arm": arm, "instruction": "none", "model_name": "m", "is_oracle": False, "replicate": 0, "size": 0,
            "first_reply": 1, "reply_count": 2, "call_count": 3, "golden_call_count": 3, "prompt_tokens": 100,
            "completion_tokens": 10, "finish_reason": "answer", "is_state_right": passed, "has_required_calls": passed,
            "is_passed": passed, "reward": float(passed), "judged_reward": None,
            "are_calls_reference": None, "wrong_json": "[]", "answer": "",
        }  # fmt: skip
        warehouse.add(CaveTurnRow(**(fields | values)))

    return add


def test_table_4_sums_a_replicate_beside_the_published_totals(warehouse, turn):
    turn(question=1)
    turn(question=2, passed=False)
    turn(arm="persistent_code", reply_count=1, prompt_tokens=40)
    rows = {row["arm"]: row for row in warehouse.table("cave_table_4")}
    assert (rows["json"]["reply_count"], rows["json"]["total_tokens"], rows["json"]["passed_pct"]) == (4, 220, 50)
    assert (rows["json"]["published_reply_count"], rows["json"]["published_prompt_tokens"]) == (236, 660588)
    assert (rows["persistent_code"]["total_tokens"], rows["persistent_code"]["published_reply_count"]) == (50, 145)
    assert rows["json"]["tokens_counted_by"] == "endpoint"


def test_table_4_is_about_the_whole_suite(warehouse, turn):
    turn()
    turn("c2", tier="shop", passed=False)
    turn("c2", tier="shop", replicate=1, episode_id="c2 again", passed=False)
    (row,) = [row for row in warehouse.table("cave_table_4") if row["arm"] == "json"]
    assert (row["replicate_count"], row["turn_count"], row["reply_count"], row["total_tokens"]) == (2, 2, 3, 165)
    assert row["passed_pct"] == pytest.approx(100 / 3)


def test_figure_5_has_domains_beside_the_published_totals(warehouse, turn):
    turn()
    turn("c2", tier="shop", passed=False, prompt_tokens=40)
    rows = {row["domain"]: row for row in warehouse.table("cave_figure_5")}
    assert list(rows) == ["IoT", "e-commerce", "all"]
    assert [row["total_tokens"] for row in rows.values()] == [110, 50, 160]
    assert [row["passed_pct"] for row in rows.values()] == [100, 0, 50]
    assert [row["published_prompt_tokens"] for row in rows.values()] == [None, None, 660588]
    assert [row["published_in"] for row in rows.values()] == ["in the picture only", "in the picture only", "Table 4"]


@pytest.mark.parametrize(
    ("number", "suite", "tier"),
    [
        (1, "tau2", "airline"),
        (2, "bfcl", "parallel"),
        (3, "types", "simple"),
        (4, "token_efficiency", "iot"),
        (5, "data_intensive", "query"),
    ],
)
def test_no_table_pools_the_factor_of_the_prompt(warehouse, turn, number, suite, tier):
    turn(suite=suite, tier=tier, instruction="none", passed=False)
    turn("c2", suite=suite, tier=tier, instruction="parallel")
    rows = [row for row in warehouse.table(f"cave_table_{number}") if row["played_by"]]
    assert {row["instruction"]: row["passed_pct"] for row in rows} == {"none": 0, "parallel": 100}


def test_table_1_tells_database_judge_and_calls_apart(warehouse, turn):
    turn("c1", suite="tau2", tier="airline", has_required_calls=False, are_calls_reference=False, judged_reward=0.0)
    turn("c2", suite="tau2", tier="airline", passed=False, is_state_right=True, are_calls_reference=True)
    row = next(row for row in warehouse.table("cave_table_1") if row["played_by"])
    assert (row["passed_pct"], row["database_pct"], row["judged_pct"]) == (50, 100, 0)
    assert (row["strict_calls_pct"], row["lenient_calls_pct"]) == (50, 0)


def test_only_the_last_attempt_counts(warehouse, turn):
    turn(attempt=0, passed=False, finish_reason="error")
    turn(attempt=1)
    (row,) = [row for row in warehouse.table("cave_table_4") if row["arm"] == "json"]
    assert (row["turn_count"], row["passed_pct"]) == (1, 100)


def test_an_episode_that_an_error_ended_counts_nowhere(warehouse, turn):
    turn()
    turn(question=2, passed=False, finish_reason="error")
    turn(arm="persistent_code")
    rows = {row["arm"]: row["turn_count"] for row in warehouse.table("cave_table_4")}
    assert rows == {"json": None, "persistent_code": 1}
    assert warehouse.table("cave_failures") == []


def test_what_only_one_arm_solved_is_counted_both_ways(warehouse, turn):
    for case, code_passed, json_passed in (
        ("c1", True, False),
        ("c2", True, True),
        ("c3", False, True),
        ("c4", True, False),
    ):
        turn(case, "persistent_code", passed=code_passed)
        turn(case, "json", passed=json_passed)
    for episode, code in (("c1 persistent_code 0", "for i in x:\n    f(i)"), ("c4 persistent_code 0", "f(1)")):
        warehouse.sql(
            "insert into steps by name select 'run' as run_id, $id as episode_id, 1 as step, 1 as turn, $code as code, "
            "'' as output, true as is_parsed, 0 as import_count, 0 as call_site_count, 0 as executed_call_count, "
            "[] as active_globals_before, [] as active_globals, [] as last_step_globals, 'kept' as state_event, "
            "0.0 as execution_seconds",
            id=episode,
            code=code,
        )
    found = [row for row in warehouse.table("cave_only_one_solved") if row["suite"] == "token_efficiency"]
    rows = {row["solved_by"]: row for row in found}
    assert rows["persistent_code"]["only_solved_count"] == 2
    assert (rows["persistent_code"]["missing_action_pct"], rows["persistent_code"]["incomplete_exploration_pct"]) == (
        100,
        0,
    )
    assert (rows["persistent_code"]["with_loop_pct"], rows["persistent_code"]["with_conditional_pct"]) == (50, 0)
    assert rows["json"]["only_solved_count"] == 1


def test_retail_tasks_solved_by_one_arm_stand_beside_published_causes(warehouse, turn):
    (published,) = warehouse.table("cave_only_one_solved")
    assert (published["published_only_solved_count"], published["pair_count"]) == (24, None)
    turn("c1", "persistent_code", suite="tau2", tier="retail")
    turn("c1", "json", suite="tau2", tier="retail", passed=False, has_required_calls=True, call_count=2)
    row = next(row for row in warehouse.table("cave_only_one_solved") if row["solved_by"] == "persistent_code")
    assert (row["missing_action_pct"], row["published_missing_action_pct"]) == (0, 37.5)
    assert (row["incomplete_exploration_pct"], row["published_incomplete_exploration_pct"]) == (100, 16.7)


def test_failures_overlap(warehouse, turn):
    turn("c1", passed=False, call_count=1)
    turn("c2", passed=False, has_required_calls=True)
    turn("c3", passed=False, finish_reason="max_steps")
    turn("c4")
    (row,) = warehouse.table("cave_failures")
    assert row["failed_turn_count"] == 3
    assert row["missing_action_pct"] == pytest.approx(200 / 3)
    assert row["incomplete_exploration_pct"] == pytest.approx(100 / 3)
    assert row["wrong_state_pct"] == pytest.approx(100 / 3)
    assert row["stopped_pct"] == pytest.approx(100 / 3)


def test_costs_add_up_over_a_conversation(warehouse, turn):
    turn(question=1)
    turn(question=2, prompt_tokens=200)
    turn("c2", instruction="parallel", prompt_tokens=1000)
    rows = warehouse.table("cave_costs")
    assert [(row["turn"], row["instruction"], row["mean_total_tokens"]) for row in rows] == [
        (1, "none", 110),
        (1, "parallel", 1010),
        (2, "none", 320),
    ]


def test_table_2_names_the_rule_and_keeps_the_factor(warehouse, turn):
    turn(suite="bfcl", tier="parallel", instruction="none", passed=False)
    turn("c2", suite="bfcl", tier="parallel", instruction="parallel")
    rows = [row for row in warehouse.table("cave_table_2") if row["category"] == "parallel" and row["arm"] == "json"]
    assert [(row["instruction"], row["passed_pct"]) for row in rows] == [("none", 0), ("parallel", 100)]
    assert "Kimi-K2-0905 (1000B) 85.0" in rows[0]["published_passed_pct"]


def test_published_values_stand_without_an_endpoint(warehouse):
    for number in range(1, 6):
        rows = warehouse.table(f"cave_table_{number}")
        assert rows
        assert all(row.get("played_by") is None for row in rows)


def test_table_1_has_our_share_beside_each_published_model(warehouse, turn):
    turn(suite="tau2", tier="airline")
    turn("c2", suite="tau2", tier="airline", passed=False)
    rows = {(row["domain"], row["published_model"]): row for row in warehouse.table("cave_table_1")}
    row = rows["airline", "DeepSeek-V3.2 (685B)"]
    assert (row["arm"], row["played_by"], row["passed_pct"]) == ("json", "m", 50)
    assert rows["retail", "DeepSeek-V3.2 (685B)"]["passed_pct"] is None


def test_table_3_averages_turns_by_tier(warehouse, turn):
    turn(suite="types", tier="simple", arm="persistent_code")
    turn(suite="types", tier="simple", arm="persistent_code", question=2, passed=False, is_oracle=False)
    (row,) = [row for row in warehouse.table("cave_table_3") if row["tier"] == "simple"]
    assert (row["turn_count"], row["published_turn_count"]) == (2, 36)
    assert (row["passed_pct"], row["mean_replies"], row["mean_total_tokens"]) == (50, 2, 110)


def test_table_5_labels_what_an_oracle_played(warehouse, turn):
    turn(suite="data_intensive", tier="query", arm="persistent_code", is_oracle=True)
    (row,) = [row for row in warehouse.table("cave_table_5") if row["played_by"] is not None]
    assert row["played_by"] == "oracle: shows only that the harness loses nothing"
    assert row["tokens_counted_by"] == "tokenizer of the script"
    assert (row["passed_pct"], row["total_tokens"]) == (100, 110)
    assert (row["published_passed_pct"], row["published_total_tokens"]) == (100, 123485)


@pytest.mark.parametrize(
    "values",
    [{"plan_digest": "other"}, {"case_id": "c2"}, {"arm": "json"}, {"instruction": "parallel"}, {"replicate": 1}],
)
def test_an_attempt_replaces_earlier_ones_of_the_same_episode_alone(warehouse, turn, values):
    turn(arm="calls", attempt=0, episode_id="first")
    turn(arm="calls", attempt=1, episode_id="second")
    turn(**{"arm": "calls", **values, "attempt": 2, "episode_id": "another"})
    rows = warehouse.sql("from staging.counted_cave_turns")
    assert {row["episode_id"] for row in rows} == {"second", "another"}


def test_of_two_equal_attempts_the_later_run_counts(warehouse, turn):
    turn(run_id="run 1", episode_id="b")
    turn(run_id="run 2", episode_id="c")
    turn(run_id="run 2", episode_id="a", question=1)
    turn(run_id="run 2", episode_id="a", question=2)
    rows = warehouse.sql("from staging.counted_cave_turns")
    assert [(row["episode_id"], row["question"]) for row in rows] == [("a", 1), ("a", 2)]


def test_comparisons_are_those_of_the_suites(warehouse):
    against = {"runtime_a": "persistent_code", "runtime_b": "json"}
    rows = [
        {"bucket": "bfcl", "header": "none", "base": "m", "metric": "score"},
        {"bucket": "types", "header": "names", "base": "m", "metric": "score"},
        {"bucket": "types", "header": "none", "base": "a", "metric": "score"},
        {"bucket": "types", "header": "none", "base": "m", "metric": "a metric"},
        {"bucket": "types", "header": "none", "base": "m", "metric": "score", "runtime_a": "z", "runtime_b": None},
        {"bucket": "types", "header": "none", "base": "m", "metric": "score", "runtime_a": "calls"},
        {"bucket": "types", "header": "none", "base": "m", "metric": "score", "estimate": 0.5, "low": 0.4, "high": 0.7},
    ]
    for row in reversed(rows):
        warehouse.statistic("paired", variant="cave", **(against | row))
    warehouse.statistic("paired", **against)
    warehouse.statistic("paired", variant="cave", plan_digest="other", **against)
    found = warehouse.table("cave_comparisons")
    assert [(row["suite"], row["instruction"], row["model_name"], row["metric"], row["arm"]) for row in found] == [
        ("bfcl", "none", "m", "score", "persistent_code - json"),
        ("types", "names", "m", "score", "persistent_code - json"),
        ("types", "none", "a", "score", "persistent_code - json"),
        ("types", "none", "m", "a metric", "persistent_code - json"),
        ("types", "none", "m", "score", "z"),
        ("types", "none", "m", "score", "calls - json"),
        ("types", "none", "m", "score", "persistent_code - json"),
    ]
    assert (found[-1]["estimate"], found[-1]["low"], found[-1]["high"], found[-1]["case_count"]) == (0.5, 0.4, 0.7, 2)


def test_claims_are_the_failed_ones_of_the_second_paper(warehouse):
    of_cave = "arXiv 2601.01569"
    for paper, verdict, place in (
        (of_cave, "overstated", "Table 3"),
        (of_cave, "inconsistent", "Table 3"),
        (of_cave, "rounding", "Table 1"),
        (of_cave, "holds", "Table 3"),
        (of_cave, "unverifiable", "Table 3"),
        ("arXiv 1", "partly holds", "Table 3"),
    ):
        fields = {"claim": verdict, "place": place, "published": "1", "recomputed": "2", "tolerance": 0.1}
        warehouse.claim(paper=paper, verdict=verdict, **fields)
    rows = warehouse.table("cave_claims")
    assert [(row["claim"], row["published"], row["recomputed"]) for row in rows] == [
        (claim, "1", "2") for claim in ("rounding", "inconsistent", "overstated")
    ]
