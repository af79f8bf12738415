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
