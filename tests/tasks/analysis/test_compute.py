"""Statistics of a group of four cells and a base model on four instances, worked out by hand."""

from itertools import product
from math import pi

import polars as pl
import pytest

from carryover.tasks.analysis.compute import compute_statistics, kept_statistics
from carryover.tasks.analysis.statistics_spec import (
    BASE_P,
    BASE_S,
    METRICS,
    PP,
    PS,
    SP,
    SS,
    PlannedGroup,
    StatisticsSpec,
)
from tests.bars import RecordedBars

SPEC = StatisticsSpec(resample_count=200)
CELLS = {
    # (train, runtime): scores and tokens of instances i1 to i4
    ("persistent", "persistent"): ([1.0, 0.8, 0.6, 0.4], [100, 100, 100, 100]),
    ("persistent", "stateless"): ([0.9, 0.6, 0.3, 0.8], [300, 300, 300, 300]),
    ("stateless", "persistent"): ([1.0, 0.8, 0.6, 0.3], [200, 200, 200, 200]),
    ("stateless", "stateless"): ([1.0, 0.8, 0.6, 0.4], [210, 190, 220, 180]),
    (None, "persistent"): ([0.0, 0.0, 0.0, 0.0], [900, 900, 900, 900]),
}

OVER_SEEDS = "one value per instance: its mean over 2 training seeds"


def episodes(seeds=(0,), **values):
    rows = []
    for (train, runtime), (scores, tokens) in CELLS.items():
        for seed in seeds if train else (None,):
            for index, (score, token_count) in enumerate(zip(scores, tokens, strict=True), start=1):
                row = dict.fromkeys([*METRICS["mean"], *METRICS["mcnemar"]], 0) | {
                    "plan_digest": "plan",
                    "purpose": "evaluation",
                    "is_counted": True,
                    "variant": "main",
                    "base": "common",
                    "visibility": "declared",
                    "header": "names",
                    "bucket": "small",
                    "train_contract": train,
                    "runtime_contract": runtime,
                    "instance_id": f"i{index}",
                    "training_seed": seed,
                    "replicate": 0,
                    "score": score,
                    "is_solved": score == 1,
                    "total_tokens": token_count,
                    "has_missing_name": (train, runtime) == ("persistent", "stateless"),
                }
                rows.append(row | values)
    return pl.DataFrame(rows, infer_schema_length=None)


@pytest.fixture(scope="module")
def rows():
    return compute_statistics(episodes(), plan_digest="plan", run_id="run", spec=SPEC)


def test_the_analyses_are_shown_as_they_are_computed():
    bars = RecordedBars()
    compute_statistics(
        pl.concat([episodes(), episodes(bucket="other")]),
        plan_digest="plan",
        run_id="run",
        spec=SPEC,
        open_bar=bars.open,
    )
    (bar,) = bars.shown
    # of either bucket: means of 5 cells, 7 comparisons and their power, their equivalence, their rank tests and yes/no
    # tests, 3 costs, two analyses of the interaction and one of replicates
    count = 5 * len(METRICS["mean"]) + 7 + 7 + 1 + 2 + len(METRICS["mcnemar"]) + 3 + 2 + 1
    assert (bar.label, bar.unit, bar.total, bar.done) == ("statistics", "analyses", 2 * count, 2 * count)


def test_kept_statistics_are_by_the_settings_of_their_plan(rows):
    bars = RecordedBars()
    found = kept_statistics(episodes(), "plan", {"resample_count": 200}, bars.open)
    assert found == [row.model_copy(update={"run_id": "plan"}) for row in rows]
    assert [bar.label for bar in bars.shown] == ["statistics"]


def one(rows, analysis, group, metric, *, arms="", method=""):
    """Return the one row of an analysis; `arms` as `P->P P->S`."""
    short = {"persistent": "P", "stateless": "S", None: "base"}
    found = [
        row
        for row in rows
        if (row.analysis, row.comparison_group, row.metric) == (analysis, group, metric)
        and (
            not arms
            or arms == f"{short[row.train_a]}->{short[row.runtime_a]} {short[row.train_b]}->{short[row.runtime_b]}"
        )
        and row.method.startswith(method)
    ]
    assert len(found) == 1
    return found[0]


def test_a_cell_has_its_mean_with_an_interval(rows):
    row = one(rows, "mean", "persistent->persistent", "score", method="bootstrap percentile")
    assert (row.pair_count, row.mean_a, row.estimate) == (4, pytest.approx(0.7), pytest.approx(0.7))
    assert row.low is not None
    assert row.high is not None
    assert 0.4 <= row.low < 0.7 < row.high <= 1.0


def test_wilcoxon_row_has_means_difference_and_both_effect_sizes(rows):
    row = one(rows, "wilcoxon", "native_vs_mismatched", "score", arms="P->P P->S")
    # differences 0.1, 0.2, 0.3, -0.4: the known answer of test_rank_tests
    assert (row.pair_count, row.nonzero_count, row.statistic, row.p_value) == (4, 4, 4.0, 0.875)
    assert (row.mean_a, row.mean_b) == (pytest.approx(0.7), pytest.approx(0.65))
    assert row.estimate == pytest.approx(0.05)
    assert (row.effect_size, row.effect_size_authors) == (pytest.approx(0.2), pytest.approx(0.6))


def test_one_nonzero_difference_is_not_tested_and_noted(rows):
    row = one(rows, "wilcoxon", "fixed_runtime", "score", arms="P->P S->P")
    assert (row.nonzero_count, row.p_value, row.p_holm) == (1, None, None)
    assert row.note == "no test: 1 of 4 differences are not zero, 2 are needed"


def test_holm_corrects_over_all_comparisons_of_the_plan(rows):
    tested = [row for row in rows if row.analysis == "wilcoxon" and row.metric == "score" and row.p_value is not None]
    # against the base 1/8 each; P->P against P->S and P->S against S->S 7/8 each; three have no test, and seven count
    assert sorted((row.p_value, row.p_holm) for row in tested) == [
        (0.125, 0.875),
        (0.125, 0.875),
        (0.875, 1.0),
        (0.875, 1.0),
    ]


def test_planned_comparisons_count_even_without_episodes():
    arms = frozenset({PP, PS, SP, SS, BASE_P, BASE_S})
    planned = {("main", "common", "declared", "names", "small"): PlannedGroup(arms, replicates=2)}
    rows = compute_statistics(episodes(), plan_digest="plan", run_id="run", spec=SPEC, planned=planned)
    for analysis, metric in (("wilcoxon", "score"), ("mcnemar", "is_solved"), ("equivalence", "score")):
        family = [row for row in rows if (row.analysis, row.metric) == (analysis, metric)]
        assert len(family) == 9  # as in Tables 7 and 8; BASE_S was not played, and two comparisons are with it
        assert [row.pair_count for row in family if (row.train_b, row.runtime_b) == BASE_S] == [0, 0]
    tested = [row for row in rows if row.analysis == "wilcoxon" and row.metric == "score" and row.p_value is not None]
    assert {row.p_holm for row in tested} == {1.0}  # 9 x 1/8, where seven comparisons alone give 7/8
    replicates = [row for row in rows if row.analysis == "replicates"]
    assert {(row.pair_count, row.p_value) for row in replicates} == {(0, None)}
    assert len(replicates) == 4 * len(METRICS["replicates"])


def test_token_ratio_of_means_is_against_the_aligned_cell(rows):
    row = one(rows, "ratio", "against_aligned", "total_tokens", arms="S->P P->P", method="bootstrap percentile")
    assert (row.mean_a, row.mean_b, row.estimate, row.low, row.high) == (200.0, 100.0, 2.0, 2.0, 2.0)
    row = one(rows, "ratio", "against_aligned", "total_tokens", arms="S->S P->P", method="bootstrap percentile")
    assert row.estimate == 2.0
    assert row.low is not None
    assert row.low < 2.0


def test_mcnemar_counts_the_discordant_pairs(rows):
    row = one(rows, "mcnemar", "fixed_runtime", "has_missing_name", arms="P->S S->S")
    assert (row.pair_count, row.nonzero_count, row.statistic, row.p_value) == (4, 4, 4.0, 0.125)
    # every comparison with P->S has four discordant pairs, and the others none: native, fixed runtime and base
    tested = [row for row in rows if (row.analysis, row.metric) == ("mcnemar", "has_missing_name") and row.p_value]
    assert {(row.p_value, row.p_holm) for row in tested} == {(0.125, 7 * 0.125)}


def test_equivalence_and_power_stand_beside_each_comparison(rows):
    row = one(rows, "equivalence", "end_to_end", "score")
    assert (row.estimate, row.verdict, row.note) == (0.0, "identical", "no test: all 4 differences equal 0")
    assert (row.interval_kind, row.p_value, row.p_holm) == ("t", None, None)
    row = one(rows, "power", "native_vs_mismatched", "score", arms="P->P P->S")
    # standard deviation of 0.1, 0.2, 0.3, -0.4 is sqrt(0.29 / 3)
    assert (row.estimate, row.note) == (pytest.approx(2.801585 * (0.29 / 3) ** 0.5 / 2), None)
    row = one(rows, "power", "end_to_end", "score")
    assert (row.estimate, row.note) == (None, "no spread: all 4 differences are 0")


def test_interaction_is_difference_of_differences_and_ratio_of_ratios(rows):
    row = one(rows, "interaction", "train_x_runtime", "total_tokens", method="bootstrap percentile")
    # (100 - 300) - (200 - 200)
    assert (row.estimate, row.verdict) == (-200.0, "below 0")
    row = one(rows, "interaction_ratio", "train_x_runtime", "total_tokens", method="bootstrap percentile")
    assert row.estimate == pytest.approx((100 / 300) / (200 / 200))
    assert row.verdict == "below 1"
    row = one(rows, "interaction", "train_x_runtime", "score", method="bootstrap percentile")
    # contrasts 0.1, 0.2, 0.3, -0.3
    assert row.estimate == pytest.approx(0.075)
    assert row.p_value is None
    test = one(rows, "interaction_wilcoxon", "train_x_runtime", "score")
    # ranks 1, 2, 3.5 against 3.5; 6 of the 16 sign patterns reach that sum or less
    assert (test.pair_count, test.nonzero_count, test.statistic) == (4, 4, 3.5)
    assert test.p_value == pytest.approx(2 * 6 / 16)
    assert test.method == ("wilcoxon signed-rank, permutation, zero_method wilcox, no continuity correction, two-sided")


def test_holm_corrects_the_interaction_over_its_metrics(rows):
    tested = [row for row in rows if row.analysis == "interaction_wilcoxon" and row.p_value is not None]
    # tokens: contrasts -210, -190, -220, -180 have one sign, 2 of the 16 patterns; of four metrics two have no test
    assert [(row.metric, row.p_value, row.p_holm) for row in tested] == [
        ("score", 0.75, 1.0),
        ("total_tokens", 0.125, 0.5),
    ]


def test_holm_corrects_equivalence_over_the_comparisons():
    spec = StatisticsSpec(resample_count=20, equivalence_margin=0.1)
    rows = compute_statistics(episodes(), plan_digest="plan", run_id="run", spec=spec)
    row = one(rows, "equivalence", "fixed_runtime", "score", arms="P->P S->P")
    # one difference of 0.1 in four: the mean 0.025 is three standard errors below the margin, and Student's t with 3
    # degrees is above 3 with this chance; with that of the same size, two of the six tests with a spread
    assert row.p_value == pytest.approx(0.5 - (3**0.5 / 4 + pi / 3) / pi)
    tested = [row.p_value for row in rows if row.analysis == "equivalence" and row.p_value is not None]
    assert (len(tested), min(tested)) == (6, row.p_value)
    assert row.p_holm == pytest.approx(7 * min(tested))
    assert (min(tested) < 0.05, row.p_holm is not None and row.p_holm > 0.05) == (True, True)
    assert row.verdict == "equivalence not shown"


def test_equivalence_is_tested_at_two_more_margins(rows):
    margins = {row.analysis: row.method for row in rows if row.analysis.startswith("equivalence")}
    assert margins == {
        analysis: f"equivalence, two one-sided paired t-tests, margin {margin:g}, alpha 0.05"
        for analysis, margin in (
            ("equivalence", 0.05),
            ("equivalence_within_2_points", 0.02),
            ("equivalence_within_10_points", 0.1),
        )
    }


def test_several_seeds_have_a_t_interval_over_their_values():
    rows = compute_statistics(episodes(seeds=(0, 1)), plan_digest="plan", run_id="run", spec=SPEC)
    row = one(rows, "interaction", "train_x_runtime", "total_tokens", method="t over training seeds")
    assert (row.pair_count, row.interval_kind, row.estimate) == (2, "t over seeds", -200.0)
    assert (row.low, row.high, row.note) == (-200.0, -200.0, "no spread: all training seeds give the same value")


def test_every_interval_names_its_kind(rows):
    with_ends = {(row.analysis, row.interval_kind) for row in rows if row.low is not None}
    bootstrapped = ("mean", "difference", "ratio", "interaction", "interaction_ratio")
    assert with_ends == set(product(bootstrapped, ("percentile", "BCa"))) | {
        (f"equivalence{margin}", "t") for margin in ("", "_within_2_points", "_within_10_points")
    }
    assert {row.interval_kind for row in rows if row.analysis in ("wilcoxon", "mcnemar", "power")} == {None}


def test_an_always_zero_metric_has_no_interaction_test_or_ratio(rows):
    row = one(rows, "interaction", "train_x_runtime", "imports_per_step", method="bootstrap percentile")
    assert (row.estimate, row.low, row.high) == (0.0, 0.0, 0.0)
    test = one(rows, "interaction_wilcoxon", "train_x_runtime", "imports_per_step")
    assert (test.p_value, test.note) == (None, "no test: 0 of 4 differences are not zero, 2 are needed")


def test_base_on_the_runtime_that_is_missing_is_not_compared(rows):
    groups = {
        (row.comparison_group, row.runtime_b) for row in rows if row.train_b is None and row.analysis == "wilcoxon"
    }
    assert groups == {("trained_vs_base", "persistent"), ("mismatched_vs_base", "persistent")}


def test_ids_are_unique_and_do_not_depend_on_the_values(rows):
    again = compute_statistics(
        episodes().filter(pl.col("instance_id") != "i4"), plan_digest="plan", run_id="later", spec=SPEC
    )
    assert len({row.statistic_id for row in rows}) == len(rows)
    assert {row.statistic_id for row in again} == {row.statistic_id for row in rows}


def test_other_plans_teachers_and_repeated_attempts_are_left_out():
    for values in ({"plan_digest": "other"}, {"purpose": "teacher"}, {"is_counted": False}):
        assert compute_statistics(episodes(**values), plan_digest="plan", run_id="run", spec=SPEC) == []


def test_intervals_resample_seeds_and_tests_average_them_within_an_instance():
    rows = compute_statistics(episodes(seeds=(0, 1)), plan_digest="plan", run_id="run", spec=SPEC)
    row = one(rows, "difference", "native_vs_mismatched", "score", arms="P->P P->S", method="bootstrap percentile")
    assert "2 training seeds x 4 instances" in row.method
    row = one(rows, "mcnemar", "fixed_runtime", "has_missing_name", arms="P->S S->S")
    assert (row.pair_count, row.nonzero_count, row.p_value, row.note) == (4, 4, 0.125, None)
    assert row.method.endswith("one value per instance: the majority of its pairs over 2 training seeds")
    row = one(rows, "wilcoxon", "native_vs_mismatched", "score", arms="P->P P->S")
    assert (row.pair_count, row.p_value) == (4, 0.875)
    assert (row.method.partition("two-sided, ")[2], row.note) == (
        OVER_SEEDS, "2 of 2 training seeds alone have the estimate's sign",
    )  # fmt: skip
    row = one(rows, "power", "native_vs_mismatched", "score", arms="P->P P->S")
    assert row.method.endswith(OVER_SEEDS)
    row = one(rows, "interaction_wilcoxon", "train_x_runtime", "score")
    assert row.method.endswith(OVER_SEEDS)


def test_a_test_notes_how_many_seeds_disagree():
    # under seed 1 P->P gains what it loses under seed 2, and twice as much under seed 0
    is_pp = (pl.col("train_contract") == "persistent") & (pl.col("runtime_contract") == "persistent")
    shift = pl.col("training_seed").replace_strict({0: 0.2, 1: 0.1, 2: -0.1}, default=0.0)
    shifted = episodes(seeds=(0, 1, 2)).with_columns(pl.when(is_pp).then(shift + 0.5).otherwise(0.5).alias("score"))
    rows = compute_statistics(shifted, plan_digest="plan", run_id="run", spec=SPEC)
    row = one(rows, "wilcoxon", "native_vs_mismatched", "score", arms="P->P P->S")
    # four instances with a mean difference of 0.2 / 3 each: of the 16 sign patterns 2 are as far out
    assert (row.pair_count, row.nonzero_count, row.p_value) == (4, 4, 2 / 16)
    assert row.estimate == pytest.approx(0.2 / 3)
    assert row.note == "2 of 3 training seeds alone have the estimate's sign"


def test_replicates_of_one_seed_are_one_pair_of_mcnemar():
    # a discordant pair on both instances: four replicates of them would be 8 of 8, p = 2/256; two pairs have p = 2/4
    first = episodes().filter(pl.col("instance_id").is_in(["i1", "i2"]))
    repeated = pl.concat([first.with_columns(pl.lit(replicate).alias("replicate")) for replicate in range(4)])
    rows = compute_statistics(repeated, plan_digest="plan", run_id="run", spec=SPEC)
    row = one(rows, "mcnemar", "fixed_runtime", "has_missing_name", arms="P->S S->S")
    assert (row.pair_count, row.p_value) == (2, 0.5)
    assert row.note == "first replicate of a seed only, 3 further left out"
    assert row.method == "mcnemar exact, binomial, two-sided, one value per instance: its pair"


def test_equivalence_over_seeds_is_decided_by_resampling_them():
    # P->P is 0.04 better on every instance under one seed and 0.04 worse under the other: instances alone show no
    # spread, while a quarter of the resamples hold one seed twice, so that the interval is +-0.04
    is_pp = (pl.col("train_contract") == "persistent") & (pl.col("runtime_contract") == "persistent")
    shift = pl.when(is_pp).then(pl.lit(0.04) * (1 - 2 * pl.col("training_seed"))).otherwise(0.0)
    shifted = episodes(seeds=(0, 1)).with_columns(pl.col("score") + shift)
    for margin, p_value, verdict in ((0.05, 1 / 201, "equivalent"), (0.03, 0.25, "equivalence not shown")):
        spec = StatisticsSpec(resample_count=200, equivalence_margin=margin)
        rows = compute_statistics(shifted, plan_digest="plan", run_id="run", spec=spec)
        row = one(rows, "equivalence", "end_to_end", "score")
        assert row.estimate == pytest.approx(0.0)
        assert (row.low, row.high) == (pytest.approx(-0.04), pytest.approx(0.04))
        # no resample reaches the wider margin; beyond each end of the narrower one lies a quarter, within 4 deviations
        assert row.p_value == pytest.approx(p_value, abs=0 if verdict == "equivalent" else 0.12)
        assert (row.confidence, row.interval_kind, row.verdict) == (0.9, "percentile", verdict)
        assert row.method.startswith(
            "equivalence, bootstrap percentile, 200 resamples of 2 training seeds x 4 instances"
        )
        assert row.method.endswith(f"margin {margin:g}, alpha 0.05")


def test_equivalence_over_several_seeds_says_which_resamples_are_left_out():
    # a resample of the first seed alone that misses its one instance has no value
    is_played = (pl.col("training_seed") != 0) | (pl.col("instance_id") == "i1")
    rows = compute_statistics(
        episodes(seeds=(0, 1)).filter(is_played), plan_digest="plan", run_id="run", spec=StatisticsSpec()
    )
    row = one(rows, "equivalence", "fixed_runtime", "score", arms="P->S S->S")
    assert row.note is not None
    assert row.note.endswith("resamples are undefined and left out")


def test_a_decision_on_more_training_seeds_replaces_the_earlier_one():
    first, later = (
        one(
            compute_statistics(episodes(seeds=seeds), plan_digest="plan", run_id="run", spec=SPEC),
            "equivalence",
            "end_to_end",
            "score",
        )
        for seeds in ((0,), (0, 1))
    )
    assert first.method.startswith("equivalence, two one-sided paired t-tests")
    assert first.statistic_id == later.statistic_id


def test_groups_are_never_compared_with_each_other():
    frame = pl.concat([episodes(), episodes(variant="no_faults")])
    rows = compute_statistics(frame, plan_digest="plan", run_id="run", spec=SPEC)
    assert {row.variant for row in rows} == {"main", "no_faults"}
    assert len({row.statistic_id for row in rows}) == len(rows)


def test_contracts_of_ones_own_are_compared_with_home_and_the_next_lifetime():
    renamed = pl.col("runtime_contract").replace("stateless", "recent-3")
    played = episodes().with_columns(renamed, pl.col("train_contract").replace("stateless", "recent-3"))
    rows = compute_statistics(played, plan_digest="plan", run_id="run", spec=SPEC)
    found = {
        (row.comparison_group, row.train_a, row.runtime_a, row.train_b, row.runtime_b): row.estimate
        for row in rows
        if (row.analysis, row.metric) == ("ratio", "total_tokens") and row.train_b is not None
    }
    assert found == {
        ("away_from_home", "persistent", "recent-3", "persistent", "persistent"): 3.0,
        ("away_from_home", "recent-3", "persistent", "recent-3", "recent-3"): 1.0,
        ("next_lifetime", "persistent", "recent-3", "persistent", "persistent"): 3.0,
        ("next_lifetime", "recent-3", "recent-3", "recent-3", "persistent"): 1.0,
        ("next_lifetime_at_home", "recent-3", "recent-3", "persistent", "persistent"): 2.0,
    }
