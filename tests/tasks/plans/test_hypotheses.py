import pytest

from carryover.tasks.analysis.statistic_rows import StatisticGroup
from carryover.tasks.analysis.statistics_spec import PP, PS, SS, StatisticsSpec
from carryover.tasks.plans.hypotheses import Criterion, Hypothesis, HypothesisFile, read_hypotheses
from carryover.tasks.plans.hypotheses import judge as judge_file


def judge(hypotheses, statistics):
    return judge_file(HypothesisFile(protocol=read_hypotheses().protocol, hypothesis=tuple(hypotheses)), statistics)


def statistic(
    analysis,
    metric,
    a=None,
    b=None,
    *,
    base="scratch",
    visibility="declared",
    bucket="small",
    variant="main",
    method="percentile",
    **numbers,
):
    group = StatisticGroup("run", "plan", variant, base, visibility, "names", bucket)
    sides = [arm for arm in (a, b) if arm is not None]
    return group.row(analysis, "any", metric, *sides, pair_count=100, method=method, **numbers)


def hypothesis(**fields):
    defaults = {"name": "names", "claim": "Names break.", "analysis": "mean", "metric": "has_missing_name", "a": "P->S"}
    return Hypothesis(**{**defaults, "criteria": ("estimate >= 0.80",), "bases": ("scratch",), **fields})


def test_a_claim_holds_where_its_number_reaches_the_threshold():
    (verdict,) = judge([hypothesis()], [statistic("mean", "has_missing_name", PS, estimate=0.80, low=0.7, high=0.9)])
    assert verdict.holds
    assert (verdict.estimate, verdict.low, verdict.high) == (0.80, 0.7, 0.9)


def test_a_claim_reads_no_other_cell_metric_analysis_or_base():
    others = [
        statistic("mean", "has_missing_name", PP, estimate=1.0),
        statistic("mean", "score", PS, estimate=1.0),
        statistic("difference", "has_missing_name", PS, estimate=1.0),
        statistic("mean", "has_missing_name", PS, base="common", estimate=1.0),
    ]
    assert judge([hypothesis()], others) == []


def test_every_criterion_must_hold_under_every_interval_method():
    ratio = hypothesis(
        analysis="ratio", metric="total_tokens", a="S->S", b="P->P", criteria=("estimate >= 2.0", "low > 1.0")
    )
    rows = [
        statistic("ratio", "total_tokens", SS, PP, method="percentile", estimate=2.1, low=1.1, high=3.0),
        statistic("ratio", "total_tokens", SS, PP, method="BCa", estimate=2.1, low=0.9, high=2.9),
    ]
    (verdict,) = judge([ratio], rows)
    assert not verdict.holds
    assert (verdict.low, verdict.high) == (0.9, 3.0)


def test_cells_are_ordered():
    ratio = hypothesis(analysis="ratio", metric="total_tokens", a="S->S", b="P->P", criteria=("estimate >= 2.0",))
    assert judge([ratio], [statistic("ratio", "total_tokens", PP, SS, estimate=2.5)]) == []


def test_an_interaction_names_no_cell():
    interaction = hypothesis(analysis="interaction", metric="total_tokens", a=None, criteria=("high < 0",))
    (verdict,) = judge([interaction], [statistic("interaction", "total_tokens", estimate=-5.0, low=-6.0, high=-4.0)])
    assert verdict.holds


def test_each_visibility_has_a_verdict_of_its_own():
    rows = [
        statistic("mean", "has_missing_name", PS, visibility="declared", estimate=0.9),
        statistic("mean", "has_missing_name", PS, visibility="as_trained", estimate=0.1),
    ]
    verdicts = judge([hypothesis()], rows)
    assert {verdict.visibility: verdict.holds for verdict in verdicts} == {"as_trained": False, "declared": True}


def test_larger_instances_and_the_common_base_are_judged_by_signs():
    tax = hypothesis(
        analysis="ratio",
        metric="total_tokens",
        a="S->S",
        b="P->P",
        criteria=("estimate >= 2.0",),
        signs=("low > 1.0",),
    )
    rows = [
        statistic("ratio", "total_tokens", SS, PP, bucket=bucket, base=base, estimate=1.7, low=1.5, high=1.9)
        for base, bucket in (("scratch", "small"), ("scratch", "small_large"), ("common", "small"), ("both", "small"))
    ]
    verdicts = judge([tax], rows)
    assert {(one.base, one.bucket): (one.criteria, one.holds) for one in verdicts} == {
        ("scratch", "small"): ("estimate >= 2.0", False),
        ("scratch", "small_large"): ("low > 1.0", True),
        ("common", "small"): ("low > 1.0", True),
    }


def test_a_claim_without_signs_says_nothing_elsewhere():
    assert judge([hypothesis()], [statistic("mean", "has_missing_name", PS, bucket="small_large", estimate=0.9)]) == []


def test_a_control_is_judged_in_its_own_variant_only():
    control = hypothesis(
        analysis="interaction", metric="total_tokens", a=None, criteria=("low < 0", "high > 0"), variants=("shuffled",)
    )
    rows = [
        statistic("interaction", "total_tokens", variant=name, estimate=1.0, low=-2.0, high=4.0)
        for name in ("main", "shuffled")
    ]
    assert [(one.variant, one.holds) for one in judge([control], rows)] == [("shuffled", True)]


def test_a_claim_about_seeds_reads_their_t_interval():
    claim = hypothesis(analysis="ratio", metric="total_tokens", a="S->S", b="P->P", criteria=("low > 1",), seed_count=8)
    group = StatisticGroup("run", "plan", "main", "scratch", "declared", "names", "small")
    rows = [
        group.row("ratio", "any", "total_tokens", SS, PP, pair_count=count, method=kind, interval_kind=kind, low=low)
        for kind, count, low in (("t over seeds", 3, 0.5), ("t over seeds", 8, 1.5), ("percentile", 8, 0.7))
    ]
    assert [one.low for one in judge([claim], rows)] == [1.5]
    over_instances = claim.model_copy(update={"seed_count": None})
    assert [one.low for one in judge([over_instances], rows)] == [0.7]


def test_a_number_that_is_missing_keeps_no_bound():
    assert not Criterion.parse("low > 1.0").holds([statistic("mean", "score", PS, estimate=2.0)])


def test_a_method_that_gives_no_interval_is_left_out():
    rows = [
        statistic("mean", "score", PS, method="percentile", estimate=2.0, low=1.5),
        statistic("mean", "score", PS, method="BCa", estimate=2.0),
    ]
    assert Criterion.parse("low > 1.0").holds(rows)
    assert not Criterion.parse("low > 1.6").holds(rows)


def test_a_criterion_in_another_form_is_refused():
    with pytest.raises(ValueError, match="'mean >= 1' is not of the form"):
        Criterion.parse("mean >= 1")


def test_the_repository_s_hypotheses_are_valid_and_uniquely_named():
    file = read_hypotheses()
    names = [one.name for one in file.hypothesis]
    assert len(names) == len(set(names))
    assert file.protocol.instances_per_cell == 100
    assert 0 not in file.protocol.training_seeds


def test_the_statistics_are_computed_as_the_protocol_says():
    protocol, spec = read_hypotheses().protocol, StatisticsSpec()
    assert (protocol.confidence, protocol.resamples, protocol.equivalence_margin) == (
        spec.confidence,
        spec.resample_count,
        spec.equivalence_margin,
    )
