"""What decides the verdict on a prediction."""

import pytest

from tests.sql.hand_made import CELLS, OURS, add_pairs


@pytest.fixture
def learnt(warehouse):
    """Twenty instances in all four cells and by the base on both runtimes; every episode ended and scored 0.9."""
    warehouse.run()
    for number in range(20):
        for cell in (*CELLS, "base->P", "base->S"):
            warehouse.episode(cell, f"i{number}", 0.9)
    return warehouse


def _verdicts(study, prediction):
    rows = [row for row in study.table("predictions") if row["measured_on"] == OURS["measured_on"]]
    return [row["verdict"] for row in rows if row["prediction"] == prediction]


@pytest.mark.parametrize(("low", "verdict"), [(0.01, "refuted"), (-0.01, "not refuted")])
def test_missing_names_are_decided_by_interval_not_by_mcnemar(learnt, low, verdict):
    arms = {"train_a": "persistent", "train_b": "stateless", "runtime_a": "stateless", "runtime_b": "stateless"}
    both = {**arms, "comparison_group": "fixed_runtime", "metric": "has_missing_name"}
    missed = learnt.episode("P->S", "i20", 0.9)
    learnt.error(missed, 1, "NameError: name 'x' is not defined")
    learnt.statistic("difference", **both, low=low, high=0.9)
    learnt.statistic("mcnemar", **both, method="mcnemar exact, by hand", p_value=0.9 if low > 0 else 0.001)
    assert _verdicts(learnt, 2) == [verdict]


@pytest.mark.parametrize(
    ("persistent_score", "low", "high", "verdict"),
    [(0.9, -0.04, 0.04, "refuted"), (0.9, -0.1, 0.1, "not refuted"), (1.0, 0.06, 0.14, "not refuted")],
)
def test_base_benefits_if_it_may_score_five_points_more(warehouse, persistent_score, low, high, verdict):
    warehouse.run()
    for number in range(20):
        warehouse.episode("base->P", f"i{number}", persistent_score)
        warehouse.episode("base->S", f"i{number}", 0.9)
    arms = {"train_a": None, "train_b": None, "runtime_a": "persistent", "runtime_b": "stateless"}
    warehouse.statistic("difference", **arms, comparison_group="base_on_runtimes", metric="score", low=low, high=high)
    assert _verdicts(warehouse, 3) == [verdict]


def test_untrained_or_rarely_played_base_bears_no_verdict(warehouse):
    warehouse.run()
    warehouse.episode("base->P", "i1", 0.0)
    assert _verdicts(warehouse, 3) == ["no verdict: 1 instances of the base, a verdict needs 20"]
    for number in range(20):
        warehouse.episode("base->P", f"i{number}", 0.0, base="scratch")
    assert "no verdict: the base is untrained" in _verdicts(warehouse, 3)


def test_prompt_that_hides_the_contract_decides_nothing(learnt):
    add_pairs(learnt, range(20), visibility="as_trained")
    assert "no verdict: the contract is not shown" in _verdicts(learnt, 2)


def test_without_statistics_there_is_no_verdict_on_our_rows(learnt):
    assert [_verdicts(learnt, prediction) for prediction in (1, 2, 3, None)] == [["no statistics"]] * 4


def test_setting_that_learnt_nothing_bears_no_verdict(warehouse):
    warehouse.run()
    add_pairs(warehouse, range(20), score=0.1)
    reason = "no verdict: P->P did not learn the task: it scores 10.0 %, a verdict needs 50.0 %"
    assert [_verdicts(warehouse, prediction) for prediction in (1, 2, None)] == [[reason]] * 3


def test_smoke_scale_bears_no_verdict(warehouse):
    warehouse.run()
    add_pairs(warehouse, range(20), scale="smoke")
    rows = [row for row in warehouse.table("predictions") if row["measured_on"].startswith("smoke")]
    assert {row["verdict"] for row in rows} == {"no verdict: smoke scale, numbers without meaning"}


def test_the_papers_three_predictions_stand_as_stated_and_ours_apart(warehouse):
    rows = [row for row in warehouse.table("predictions") if row["bucket"] == "hard"]
    assert [(row["prediction"], row["source"], row["verdict"]) for row in rows] == [
        (1, "section 5", "refuted"),
        (2, "section 5", "refuted"),
        (3, "section 5", "refuted"),
        (None, "ours", "refuted"),
    ]


def test_each_prediction_has_its_own_values_and_interval(warehouse):
    """Decoys are of another metric, runtime, group or kind of interval."""
    warehouse.run()
    for cell, tokens, score in (
        ("P->P", 1000, 0.9),
        ("P->S", 3000, 0.9),
        ("S->P", 1500, 0.9),
        ("S->S", 2000, 0.9),
        ("base->P", 1000, 0.5),
        ("base->S", 1000, 0.25),
    ):
        warehouse.episode(cell, "i1", score, prompt_tokens=tokens - 10, completion_tokens=10)
    decoy = {"low": 77.0, "high": 99.0}
    for analysis, group, metric, runtime, low in (
        ("interaction", "train_x_runtime", "total_tokens", None, 1.0),
        ("difference", "fixed_runtime", "has_missing_name", "stateless", 2.0),
        ("difference", "base_on_runtimes", "score", "persistent", 3.0),
        ("difference", "fixed_runtime", "state_utilization", "persistent", 4.0),
    ):
        told = {"comparison_group": group, "metric": metric, "runtime_a": runtime}
        warehouse.statistic(analysis, **told, low=low, high=low + 0.5)
        warehouse.statistic(analysis, **told, **decoy, interval_kind="t over seeds")
        warehouse.statistic(analysis, **{**told, "metric": "step_count"}, **decoy)
        warehouse.statistic("ratio", **told, **decoy)
    for metric, runtime in (("has_missing_name", "persistent"), ("state_utilization", "stateless")):
        told = {"comparison_group": "fixed_runtime", "metric": metric, "runtime_a": runtime}
        warehouse.statistic("difference", **told, **decoy)
    warehouse.statistic("difference", comparison_group="base_on_runtimes", metric="has_missing_name", **decoy)
    warehouse.statistic("difference", comparison_group="native_vs_mismatched", metric="score", **decoy)
    rows = [row for row in warehouse.table("predictions") if row["measured_on"] == OURS["measured_on"]]
    columns = ("subject", "a", "b", "value_a", "value_b", "difference_low", "difference_high")
    assert [tuple(row[column] for column in columns) for row in rows] == [
        ("tokens", "S: S->S - S->P", "P: P->S - P->P", 500, 2000, 1.0, 1.5),
        ("missing names", "S->S", "P->S", 0, 0, 200.0, 250.0),
        ("base model", "base->S", "base->P", 25, 50, 300.0, 350.0),
        ("state use", "S->P", "P->P", 0, 0, 4.0, 4.5),
    ]


@pytest.mark.parametrize(
    ("tokens", "ends", "verdict"),
    [
        # savings of 200 and 300: half the smaller value apart
        ((1000, 1300, 1000, 1200), (1.0, 9.0), "refuted"),
        ((1000, 1300, 1000, 1200), (-9.0, -1.0), "refuted"),
        ((1000, 1300, 1000, 1200), (-1.0, 1.0), "not refuted"),
        ((1000, 1298, 1000, 1200), (1.0, 9.0), "not refuted"),
        ((1000, 1000, 1000, 1000), (1.0, 9.0), "not refuted"),
    ],
)
def test_savings_differ_by_half_the_smaller_and_an_interval_without_0(warehouse, tokens, ends, verdict):
    warehouse.run()
    for number in range(20):
        for cell, total in zip(CELLS, tokens, strict=True):
            warehouse.episode(cell, f"i{number}", 0.9, prompt_tokens=total - 10, completion_tokens=10)
    low, high = ends
    crossed = {"comparison_group": "train_x_runtime", "metric": "total_tokens"}
    warehouse.statistic("interaction", **crossed, low=low, high=high)
    assert _verdicts(warehouse, 1) == [verdict]


def test_missing_names_and_state_use_need_no_pairs_that_ended(warehouse):
    """Of twenty P->S episodes none ends, and each misses a name."""
    warehouse.run()
    for number in range(20):
        for cell in ("P->P", "S->P", "S->S"):
            warehouse.episode(cell, f"i{number}", 0.9)
        missed = warehouse.episode("P->S", f"i{number}", 0.0, finish_reason="max_turns")
        warehouse.error(missed, 1, "NameError: name 'x' is not defined")
    for metric, runtime in (("has_missing_name", "stateless"), ("state_utilization", "persistent")):
        told = {"comparison_group": "fixed_runtime", "metric": metric, "runtime_a": runtime}
        warehouse.statistic("difference", **told, low=0.5, high=1.0)
    crossed = {"comparison_group": "train_x_runtime", "low": -9.0, "high": -1.0, "verdict": "excludes 0"}
    for metric in ("missing_name_count", "total_tokens"):
        warehouse.statistic("interaction", **crossed, metric=metric)
    reason = "0 pairs ended in all four cells: a verdict on pairs needs 20"
    assert [_verdicts(warehouse, prediction) for prediction in (1, 2, None)] == [
        [f"no verdict: {reason}"], ["refuted"], ["not refuted"],
    ]  # fmt: skip
    assert [(row["metric"], row["verdict"], row["note"]) for row in warehouse.table("interaction")] == [
        ("missing_name_count", "excludes 0", None),
        ("total_tokens", None, reason),
    ]
    (setting,) = warehouse.table("mechanism")
    assert (setting["no_verdict_reason"], setting["no_pair_verdict_reason"]) == (None, reason)
