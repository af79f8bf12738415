"""The tables of the study of four contracts beside the 2x2 in one warehouse; exact rows."""

from tests.sql.hand_made import GROUP, OURS, cells

FOUR = {"variant": "four-contracts"}
INJECTED = {"train_a": "injected", "runtime_a": "injected"}


def play(warehouse):
    """Two plans: one of two contracts, and one whose I model scores on its frame and misses it on S."""
    warehouse.episode("P->P", score=0.5)
    warehouse.episode("P->S", score=0.5)
    warehouse.episode("P->P", score=1.0, plan_digest="four", **FOUR)
    warehouse.episode("I->I", score=1.0, plan_digest="four", **FOUR)
    broken = warehouse.episode("I->S", score=0.0, prompt_tokens=4900, plan_digest="four", **FOUR)
    for step in (1, 2):
        warehouse.error(broken, step, "NameError: name 'seen' is not defined")
    warehouse.episode("base->IP", score=0.0, plan_digest="four", **FOUR)
    warehouse.episode("teacher->I", plan_digest="four", purpose="evaluation", **FOUR)


def test_every_model_stands_under_every_runtime_with_the_wider_interval(warehouse):
    play(warehouse)
    at_home = {"plan_digest": "four", **FOUR, **INJECTED, "metric": "total_tokens"}
    warehouse.statistic("mean", **at_home, low=990.0, high=1010.0)
    warehouse.statistic("mean", **at_home, interval_kind="t over seeds", low=900.0, high=1100.0)
    rows = warehouse.table("four_contracts", "four")
    columns = ("mean_tokens", "score_pct", "solved_pct", "missing_name_pct", "missing_names_per_episode")
    assert {row["cell"]: tuple(row[column] for column in columns) for row in rows} == {
        "P->P": (1000.0, 100.0, 100.0, 0.0, 0.0),
        "I->S": (5000.0, 0.0, 0.0, 100.0, 2.0),
        "I->I": (1000.0, 100.0, 100.0, 0.0, 0.0),
        "common->IP": (1000.0, 0.0, 0.0, 0.0, 0.0),
    }
    assert [row["cell"] for row in rows] == ["P->P", "I->S", "I->I", "common->IP"]
    assert rows[2] | GROUP | FOUR | OURS == rows[2]
    assert (rows[2]["mean_tokens_low"], rows[2]["mean_tokens_high"]) == (900.0, 1100.0)
    assert (rows[2]["seed_count"], rows[2]["episode_count"], rows[0]["mean_tokens_low"]) == (1, 1, None)


def test_study_of_two_contracts_has_no_injected_rows(warehouse):
    play(warehouse)
    assert warehouse.table("four_contracts") == warehouse.table("injection") == []
    assert set(cells(warehouse.table("cells"), "episode_count")) == {"P->P", "P->S"}


def test_the_mechanism_is_that_of_the_2x2_beside_injected_cells(warehouse):
    play(warehouse)
    (row,) = warehouse.table("mechanism", "four")
    assert (row["variant"], row["most_missing_name_pct_elsewhere"]) == ("four-contracts", 0.0)


def test_contrast_row_says_what_its_prompts_fix(warehouse):
    play(warehouse)
    warehouse.episode("S->I", score=1.0, plan_digest="four", visibility="as_trained", **FOUR)
    at_home = {**INJECTED, "train_b": "persistent", "runtime_b": "persistent"}
    beside = {"train_a": "stateless", "runtime_a": "injected", "train_b": "stateless", "runtime_b": "stateless"}
    for visibility, cells_of in (("declared", at_home), ("as_trained", at_home), ("as_trained", beside)):
        for group, kind in (("injection", "percentile"), ("injection", "BCa"), ("end_to_end", "percentile")):
            place = {"plan_digest": "four", **FOUR, "comparison_group": group, "interval_kind": kind}
            place |= {"visibility": visibility, **cells_of}
            warehouse.statistic("ratio", **place, metric="total_tokens", estimate=1.0, low=0.9, high=1.1)
            warehouse.statistic("difference", **place, metric="score", estimate=0.5, low=0.25, high=0.75)
    declared, home, fixed = warehouse.table("injection", "four")
    assert declared == GROUP | FOUR | OURS | {
        "cell": "I->I", "against": "P->P", "interval_kind": "percentile", "pair_count": 2, "remark": None,
        "token_ratio": 1.0, "token_ratio_low": 0.9, "token_ratio_high": 1.1,
        "score_points": 50.0, "score_points_low": 25.0, "score_points_high": 75.0,
        "missing_name_points": None, "missing_name_points_low": None, "missing_name_points_high": None,
    }  # fmt: skip
    assert (home["visibility"], home["remark"]) == ("as_trained", "the same episodes as declared")
    assert (fixed["cell"], fixed["remark"]) == ("S->I", "fixed by construction: no prompt tells of the frame")
