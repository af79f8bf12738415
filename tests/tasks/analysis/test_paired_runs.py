from typing import Any

import polars as pl
import pytest
from scipy import stats

from carryover.tasks.analysis.paired_runs import RUN_METRICS, pair_runs
from carryover.tasks.analysis.statistics_spec import StatisticsSpec
from carryover.tasks.services.errors import UserError

SPEC = StatisticsSpec(resample_count=200)
A = (0.9, 0.8, 0.7, 1.0, 0.6, 0.95)
B = (0.5, 0.7, 0.1, 0.4, 0.55, 0.2)


def run_of(scores, tokens=(None,) * 6, **columns):
    empty = dict.fromkeys(RUN_METRICS)
    rows = [
        {"instance_id": str(number), **empty, "score": score, "total_tokens": count}
        for number, (score, count) in enumerate(zip(scores, tokens, strict=True))
    ]
    kinds: Any = dict.fromkeys(RUN_METRICS, pl.Float64)
    return pl.DataFrame(rows, schema_overrides=kinds).with_columns(**columns)


def paired(a, b, spec=SPEC) -> list[Any]:
    return pair_runs(a, b, spec)


def test_scores_are_compared_by_instance():
    score, *_ = paired(run_of(A), run_of(B), SPEC)
    assert (score.metric, score.instance_count) == ("score", 6)
    assert score.difference == pytest.approx(sum(A) / 6 - sum(B) / 6)
    assert score.difference_low < score.difference < score.difference_high
    wilcoxon: Any = stats.wilcoxon(A, B)
    assert score.p_value == pytest.approx(wilcoxon.pvalue)
    assert score.p_holm == score.p_value  # no other metric has values
    assert score.effect_size == 1.0  # every difference has the same sign


def test_holm_corrects_over_the_metrics_that_could_be_tested():
    """R gives the same: `p.adjust(c(p, p, NA, NA, NA), "holm")` is twice p for both."""
    rows = paired(run_of(A, tokens=[6, 5, 4, 3, 2, 1]), run_of(B, tokens=[0] * 6))
    tested = {row.metric: row for row in rows if row.p_value is not None}
    assert tested.keys() == {"score", "total_tokens"}
    assert {row.p_value for row in tested.values()} == {0.03125}
    assert {row.p_holm for row in rows} == {0.0625, None}


def test_tokens_have_a_ratio():
    rows = paired(run_of(A, tokens=[10] * 6), run_of(B, tokens=[20, 20, 40, 20, 20, 40]), SPEC)
    tokens = next(row for row in rows if row.metric == "total_tokens")
    assert tokens.ratio == pytest.approx(60 / 160)
    assert tokens.ratio_low <= tokens.ratio <= tokens.ratio_high


def test_rollouts_of_an_instance_are_averaged():
    twice = pl.concat([run_of(A), run_of(B)])
    score, *_ = paired(twice, run_of(B), SPEC)
    assert score.difference == pytest.approx((sum(A) - sum(B)) / 12)


def test_a_metric_without_values_says_so():
    *_, missing = paired(run_of(A), run_of(B), SPEC)
    assert (missing.instance_count, missing.p_value, missing.note) == (0, None, "no instance has a value in both runs")


def test_a_test_without_an_interval_says_why():
    tokens = {"tokens": [1] * 3}
    score, *_ = paired(run_of([1.0] * 3, **tokens), run_of([0.5] * 3, **tokens))
    assert score.p_value is not None
    assert score.note == "no variation between instances"
    untested, *_ = paired(run_of([1.0, 0.5], tokens=[1, 1]), run_of([0.5, 0.5], tokens=[1, 1]))
    assert untested.note == "no test: 1 of 2 differences are not zero, 2 are needed"


def test_runs_without_a_shared_instance_are_refused():
    other = run_of(B, instance_id=pl.lit("x"))
    with pytest.raises(UserError, match="no instance is in both runs: one has '0', the other 'x'"):
        paired(run_of(A), other, SPEC)


def test_scores_have_no_ratio():
    score, *_ = paired(run_of(A), run_of(B))
    assert (score.ratio, score.ratio_low, score.ratio_high) == (None, None, None)
    assert score.difference is not None
