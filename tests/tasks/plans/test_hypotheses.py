from itertools import combinations, product

import pytest

from carryover.tasks.analysis.statistic_rows import StatisticGroup
from carryover.tasks.analysis.statistics_spec import (
    BASE_COMPARISONS,
    COMPARISONS,
    COST_COMPARISONS,
    INJECTION_COMPARISONS,
    LIFETIME_COMPARISONS,
    LIFETIMES,
    METRICS,
    PP,
    PS,
    SS,
    ComparedArm,
    StatisticsSpec,
    away_from_home_comparisons,
)
from carryover.tasks.plans.hypotheses import (
    Criterion,
    Evidence,
    Group,
    Hypothesis,
    HypothesisFile,
    count_claims,
    read_hypotheses,
)
from carryover.tasks.plans.hypotheses import judge as judge_file
from carryover.tasks.traces.vocabulary import LETTERS

ENDLESS = frozenset({"missing_name_count"})


def evidence_of(statistics, *, reason=None, ended=100):
    """Every group of the statistics bears a verdict, unless there is a reason, and as many pairs ended in all cells."""
    groups = {Group(row.variant, row.base, row.visibility, row.header, row.bucket) for row in statistics}
    cells = ("P->P", "P->S", "S->P", "S->S")
    pairs: dict[tuple[Group, frozenset[str]], int] = {}
    for group in groups:
        pairs |= {(group, frozenset(pair)): ended for pair in combinations(cells, 2)}
    return Evidence(dict.fromkeys(groups, reason), dict.fromkeys(groups, ended), pairs, 20, ENDLESS)


def judge(hypotheses, statistics, **known):
    file = HypothesisFile(protocol=read_hypotheses().protocol, hypothesis=tuple(hypotheses))
    return judge_file(file, iter(statistics), evidence_of(statistics, **known))


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
    assert verdict.verdict == "holds"
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
    assert verdict.verdict == "does not hold"
    assert (verdict.low, verdict.high) == (0.9, 3.0)


def test_cells_are_ordered():
    ratio = hypothesis(analysis="ratio", metric="total_tokens", a="S->S", b="P->P", criteria=("estimate >= 2.0",))
    assert judge([ratio], [statistic("ratio", "total_tokens", PP, SS, estimate=2.5)]) == []


def test_an_interaction_names_no_cell():
    interaction = hypothesis(analysis="interaction", metric="total_tokens", a=None, criteria=("high < 0",))
    (verdict,) = judge([interaction], [statistic("interaction", "total_tokens", estimate=-5.0, low=-6.0, high=-4.0)])
    assert verdict.verdict == "holds"


def test_each_visibility_has_a_verdict_of_its_own():
    rows = [
        statistic("mean", "has_missing_name", PS, visibility="declared", estimate=0.9),
        statistic("mean", "has_missing_name", PS, visibility="as_trained", estimate=0.1),
    ]
    verdicts = judge([hypothesis()], rows)
    assert {one.visibility: one.verdict for one in verdicts} == {"as_trained": "does not hold", "declared": "holds"}


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
    assert {(one.base, one.bucket): (one.criteria, one.verdict) for one in verdicts} == {
        ("scratch", "small"): ("estimate >= 2.0", "does not hold"),
        ("scratch", "small_large"): ("low > 1.0", "holds"),
        ("common", "small"): ("low > 1.0", "holds"),
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
    assert [(one.variant, one.verdict) for one in judge([control], rows)] == [("shuffled", "holds")]


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


COMPUTED = (
    *COMPARISONS,
    *COST_COMPARISONS,
    *INJECTION_COMPARISONS,
    *LIFETIME_COMPARISONS,
    *BASE_COMPARISONS,
    *away_from_home_comparisons(ComparedArm(*arms) for arms in product(LIFETIMES, repeat=2)),
)


def letters(arm):
    train, runtime = (LETTERS.get(contract, contract) for contract in arm)
    return f"{train}->{runtime}"


COMPARED = {(letters(one.a), letters(one.b)) for one in COMPUTED if one.a.train and one.b.train}
CLAIMS = [claim for claim in read_hypotheses().hypothesis if claim.analysis in METRICS]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_the_statistic_of_a_claim_is_one_that_is_computed(claim):
    assert claim.metric in METRICS[claim.analysis]
    assert claim.b is None or (claim.a, claim.b) in COMPARED


INTERACTION = {"analysis": "interaction", "metric": "total_tokens", "a": None, "criteria": ("high < 0",)}


def test_a_setting_that_bears_no_verdict_gives_its_reason():
    rows = [statistic("mean", "has_missing_name", PS, estimate=1.0)]
    (verdict,) = judge([hypothesis()], rows, reason="smoke scale: numbers without meaning")
    assert (verdict.verdict, verdict.note) == ("no verdict", "smoke scale: numbers without meaning")


def test_pairs_that_did_not_end_bear_no_verdict():
    rows = [statistic("interaction", "total_tokens", estimate=-5.0, low=-6.0, high=-4.0)]
    (verdict,) = judge([hypothesis(**INTERACTION)], rows, ended=19)
    assert verdict.verdict == "no verdict"
    assert verdict.note == "19 pairs ended in the compared cells: a verdict needs 20"
    ratio = hypothesis(analysis="ratio", metric="total_tokens", a="S->S", b="P->P", criteria=("low > 1",))
    (verdict,) = judge([ratio], [statistic("ratio", "total_tokens", SS, PP, low=2.0)], ended=0)
    assert verdict.verdict == "no verdict"
    (verdict,) = judge([hypothesis()], [statistic("mean", "has_missing_name", PS, estimate=1.0)], ended=0)
    assert verdict.verdict == "holds"  # a mean of one cell needs no pairs


@pytest.mark.parametrize(("metric", "verdict"), [("missing_name_count", "holds"), ("score", "no verdict")])
def test_metrics_of_endless_episodes_need_no_pairs_that_ended(metric, verdict):
    claim = hypothesis(analysis="difference", metric=metric, b="P->P", criteria=("low > 0",))
    rows = [statistic("difference", metric, PS, PP, low=1.0)]
    assert [one.verdict for one in judge([claim], rows, ended=0)] == [verdict]


def test_pairs_are_counted_in_the_cells_that_a_claim_compares():
    claims = [
        hypothesis(name="ratio", analysis="ratio", metric="total_tokens", a="S->S", b="P->P", criteria=("low > 1",)),
        hypothesis(name="other", analysis="ratio", metric="total_tokens", a="P->S", b="P->P", criteria=("low > 1",)),
        hypothesis(name="interaction", **INTERACTION),
    ]
    rows = [
        statistic("ratio", "total_tokens", SS, PP, low=2.0),
        statistic("ratio", "total_tokens", PS, PP, low=2.0),
        statistic("interaction", "total_tokens", high=-4.0),
    ]
    group = Group("main", "scratch", "declared", "names", "small")
    pairs = {(group, frozenset({"S->S", "P->P"})): 20}
    file = HypothesisFile(protocol=read_hypotheses().protocol, hypothesis=tuple(claims))
    verdicts = judge_file(file, rows, Evidence({group: None}, {group: 19}, pairs, 20, ENDLESS))
    assert {one.hypothesis: (one.verdict, one.note) for one in verdicts} == {
        "ratio": ("holds", ""),
        "other": ("no verdict", "0 pairs ended in the compared cells: a verdict needs 20"),
        "interaction": ("no verdict", "19 pairs ended in the compared cells: a verdict needs 20"),
    }


def test_statistics_of_episodes_that_count_no_more_bear_no_verdict():
    """A refreshed evaluation failed; its statistics are those of the attempts before."""
    rows = [statistic("mean", "has_missing_name", PS, estimate=1.0)]
    file = HypothesisFile(protocol=read_hypotheses().protocol, hypothesis=(hypothesis(),))
    (verdict,) = judge_file(file, rows, Evidence({}, {}, {}, 20, ENDLESS))
    assert verdict.verdict == "no verdict"
    assert verdict.note == "no evaluated episode counts: the last attempts ended with an error"


def test_a_verdict_says_whether_the_scripts_fulfil_it():
    models = statistic("interaction", "total_tokens", estimate=-5.0, low=-6.0, high=-4.0)
    own = {"variant": "ablation", "estimate": -1.0, "low": -2.0}
    ablated = models.model_copy(update={"variant": "ablation", "statistic_id": "ablated"})
    claim = hypothesis(**INTERACTION, variants=("main", "ablation"))
    scripts = statistic("interaction", "total_tokens", base="teacher", estimate=-3.0, low=-4.0, high=-2.0)
    weaker = statistic("interaction", "total_tokens", base="teacher", high=1.0, **own)
    assert {one.by_script for one in judge([claim], [models])} == {"not played"}
    found = {one.variant: one.by_script for one in judge([claim], [models, ablated, scripts])}
    assert found == {"main": "fulfilled", "ablation": "not played"}
    found = {one.variant: one.by_script for one in judge([claim], [models, ablated, scripts, weaker])}
    assert found == {"main": "fulfilled", "ablation": "not fulfilled"}


def test_claims_are_counted_once_and_by_what_fulfils_them():
    forced = hypothesis(name="forced", forced="a stateless runtime keeps no name")
    copied = hypothesis(name="copied", metric="imports_per_step")
    learnt = hypothesis(name="learnt", metric="score")
    missed = hypothesis(name="missed", metric="step_count")
    of_models = {"has_missing_name": 1, "imports_per_step": 1, "score": 1, "step_count": 0}
    of_scripts = of_models | {"score": 0}
    rows = []
    for shown in ("declared", "as_trained"):
        for metric, estimate in of_models.items():
            rows.append(statistic("mean", metric, PS, visibility=shown, estimate=estimate))
            rows.append(statistic("mean", metric, PS, base="teacher", visibility=shown, estimate=of_scripts[metric]))
    verdicts = judge([forced, copied, learnt, missed], rows)
    assert {one.note for one in verdicts if one.hypothesis == "forced"} == {"forced: a stateless runtime keeps no name"}
    assert count_claims(verdicts) == [
        "4 distinct claims in 8 verdicts: 3 hold, 1 does not (missed), 0 without a verdict",
        "of those that hold: 1 forced by the contract, 1 fulfilled by the scripts alone, "
        "1 by the models and not by the scripts",
    ]


def test_a_claim_counts_apart_where_scripts_played_some_of_its_groups():
    rows = [statistic("mean", "score", PS, visibility=shown, estimate=1) for shown in ("declared", "as_trained")]
    claim = hypothesis(metric="score")
    for script, words in (
        (
            statistic("mean", "score", PS, base="teacher", estimate=1),
            "fulfilled by the scripts alone where they were played",
        ),
        (statistic("mean", "score", PS, base="teacher", estimate=0), "by the models and not by the scripts"),
    ):
        assert count_claims(judge([claim], [*rows, script]))[1] == f"of those that hold: 1 {words}"
    assert count_claims(judge([claim], rows))[1] == "of those that hold: 1 without scripts beside them"


def test_claims_without_a_verdict_or_an_interval_are_counted():
    claims = [hypothesis(name=name, metric=metric) for name, metric in (("one", "score"), ("two", "step_count"))]
    rows = [statistic("mean", claim.metric, PS, method="BCa", estimate=0.1) for claim in claims]
    rows.append(statistic("mean", "score", PS, estimate=0.1, low=0.0, high=0.2))
    verdicts = judge(claims, rows)
    assert [(one.low, one.high) for one in verdicts] == [(0.0, 0.2), (None, None)]
    assert count_claims(verdicts) == [
        "2 distinct claims in 2 verdicts: 0 hold, 2 do not (one, two), 0 without a verdict"
    ]
    assert count_claims(judge(claims, rows, reason="smoke")) == [
        "2 distinct claims in 2 verdicts: 0 hold, 0 do not, 2 without a verdict"
    ]


def test_claims_about_state_in_a_stateless_runtime_are_forced():
    forced = {one.name for one in read_hypotheses().hypothesis if one.forced}
    assert {"no_name_lives_in_p_on_s", "nothing_to_bind_again_in_s_on_s"} <= forced
