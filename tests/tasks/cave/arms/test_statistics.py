"""Paired differences between arms, the case being the unit."""

from itertools import product

import polars as pl
import pytest

from carryover.tasks.cave.arms.statistics import METRICS, arm_statistics


def turns(case_count):
    """Turns of two arms: the reference passes all, and takes 1, 2, ... tokens less."""
    return pl.DataFrame(
        {
            "plan_digest": "plan", "model_name": "m", "suite": "types", "instruction": "none", "arm": arm,
            "case_id": f"c{number}", "is_passed": arm == "persistent_code", "reply_count": 2, "completion_tokens": 10,
            "prompt_tokens": 100 + (number if arm == "json" else 0),
        }
        for arm, number in product(("persistent_code", "json"), range(1, case_count + 1))
    )  # fmt: skip


@pytest.mark.parametrize(("case_count", "is_noted"), [(9, True), (10, False)])
def test_few_cases_are_noted(case_count, is_noted):
    rows = {row.metric: row for row in arm_statistics(turns(case_count), "run")}
    assert set(rows) == set(METRICS)
    assert (rows["total_tokens"].note == "fewer than 10 cases") is is_noted
    assert rows["total_tokens"].estimate == -(case_count + 1) / 2
    assert rows["passed_pct"].estimate == 100


def test_other_notes_stay():
    rows = {row.metric: row for row in arm_statistics(turns(2), "run")}
    assert rows["reply_count"].note == (
        "fewer than 10 cases; no test: 0 of 2 differences are not zero, 2 are needed; no variation between instances"
    )


def test_every_arm_has_its_own_interval():
    frame = turns(4).with_columns(is_passed=pl.col("case_id") == "c1")
    rows = [row for row in arm_statistics(frame, "run") if (row.analysis, row.metric) == ("arm_mean", "passed_pct")]
    assert [(row.runtime_a, row.runtime_b, row.mean_a) for row in rows] == [
        ("persistent_code", None, 25),
        ("json", None, 25),
    ]
    assert [row.low for row in rows] == [0, 0]
    assert rows[0].high is not None
    assert rows[0].high > 25


def test_rows_are_told_whole():
    rows = [row for row in arm_statistics(turns(4), "run") if row.metric == "total_tokens"]
    common = {
        "run_id": "run", "plan_digest": "plan", "variant": "cave", "base": "m", "visibility": "declared",
        "header": "none", "bucket": "types", "metric": "total_tokens", "train_a": None, "train_b": None,
        "pair_count": 4, "confidence": 0.95, "interval_kind": "percentile", "verdict": None,
    }  # fmt: skip
    untested = dict.fromkeys(
        ("runtime_b", "nonzero_count", "mean_b", "statistic", "p_value", "p_holm", "effect_size", "effect_size_authors")
    )
    mean, paired = rows[1:]
    assert mean.model_dump(exclude={"statistic_id"}) == {
        **common, **untested, "analysis": "arm_mean", "comparison_group": "json", "runtime_a": "json",
        "mean_a": 112.5, "estimate": 112.5, "low": 111.5, "high": 113.5, "note": None,
        "method": "bootstrap percentile, 5000 resamples of 4 instances, seed 0",
    }  # fmt: skip
    assert paired.model_dump(exclude={"statistic_id"}) == {
        **common, "analysis": "paired", "comparison_group": "persistent_code-json", "runtime_a": "persistent_code",
        "runtime_b": "json", "nonzero_count": 4, "mean_a": 110.0, "mean_b": 112.5, "estimate": -2.5, "low": -3.5,
        "high": -1.5, "statistic": 0.0, "p_value": 0.125, "p_holm": 0.125, "effect_size": -1.0,
        "effect_size_authors": 1.0, "note": "fewer than 10 cases",
        "method": "wilcoxon signed-rank, exact, zero_method wilcox, no continuity correction, two-sided",
    }  # fmt: skip


def test_cases_are_paired_by_name_and_count_once():
    frame = turns(3)
    twice = pl.concat([frame, frame.with_columns(prompt_tokens=pl.col("prompt_tokens") + 10)])
    unpaired = twice.filter((pl.col("arm") != "json") | (pl.col("case_id") != "c2")).reverse()
    rows = {row.analysis: row for row in arm_statistics(unpaired, "run") if row.metric == "total_tokens"}
    paired = rows["paired"]
    assert (paired.pair_count, paired.mean_a, paired.mean_b, paired.estimate) == (2, 115, 117, -2)
    assert rows["arm_mean"].mean_a == 117


def test_arms_that_share_no_case_or_lack_the_reference_are_not_compared():
    frame = turns(3)
    apart = frame.with_columns(case_id=pl.col("arm") + pl.col("case_id"))
    without = frame.filter(arm="json")
    assert {row.analysis for row in arm_statistics(apart, "run")} == {"arm_mean"}
    assert {(row.analysis, row.runtime_a) for row in arm_statistics(without, "run")} == {("arm_mean", "json")}


def test_comparisons_are_corrected_per_metric_over_their_arms():
    frame = turns(6)
    more = frame.filter(arm="json").with_columns(arm=pl.lit("code_act"))
    rows = arm_statistics(pl.concat([frame, more]), "run")
    paired = {(row.metric, row.runtime_b): row for row in rows if row.analysis == "paired"}
    assert len(paired) == 6
    tokens = paired["total_tokens", "json"]
    assert (tokens.p_value, tokens.p_holm) == (0.03125, 0.0625)


@pytest.mark.parametrize("column", ["plan_digest", "model_name", "suite", "instruction"])
def test_other_plans_models_suites_and_instructions_stand_apart(column):
    frame = turns(3)
    both = pl.concat([frame, frame.with_columns(pl.lit("other").alias(column))])
    assert len(arm_statistics(both, "run")) == 2 * len(arm_statistics(frame, "run"))
