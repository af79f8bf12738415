from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats

from carryover.tasks.analysis.paired_tests import mcnemar_exact, signed_rank


def test_untied_differences_have_the_exact_distribution():
    result = signed_rank(np.array([1.0, 2.0, 3.0, -4.0]))
    # W+ = 1 + 2 + 3 and W- = 4; of the 16 sign patterns 7 have a rank sum of at most 4
    assert (result.statistic, result.p_value, result.nonzero_count) == (4.0, pytest.approx(2 * 7 / 16), 4)
    assert result.method == "wilcoxon signed-rank, exact, zero_method wilcox, no continuity correction, two-sided"


def test_effect_size_is_signed_and_the_authors_figure_is_not():
    forward, backward = signed_rank(np.array([1.0, 2.0, 3.0, -4.0])), signed_rank(np.array([-1.0, -2.0, -3.0, 4.0]))
    assert (forward.effect_size, backward.effect_size) == (pytest.approx(0.2), pytest.approx(-0.2))  # (6 - 4) / 10
    assert forward.effect_size_authors == backward.effect_size_authors == pytest.approx(1 - 2 * 4 / (4 * 5))
    assert forward.effect_size_authors == pytest.approx((1 + 0.2) / 2)


def test_few_pairs_with_ties_go_through_all_signs():
    result = signed_rank(np.array([1.0, 1.0, -1.0, 2.0]))
    # ranks 2, 2, 2, 4: W- = 2; of the 16 sign patterns 4 have a rank sum of at most 2
    assert (result.statistic, result.p_value) == (2.0, pytest.approx(2 * 4 / 16))
    assert result.method.startswith("wilcoxon signed-rank, permutation, zero_method wilcox")


def test_more_pairs_with_ties_are_asymptotic_with_their_correction():
    result = signed_rank(np.array([1.0, 1.0, -1.0, 2.0, *[0.0] * 10]))
    # ranks 2, 2, 2, 4: W+ = 8, W- = 2; variance 4 * 5 * 9 / 24 - (27 - 3) / 48 = 7; z = (2 - 5) / sqrt(7)
    assert (result.statistic, result.p_value) == (2.0, pytest.approx(0.2568393, abs=1e-6))
    assert "asymptotic" in result.method


@pytest.mark.parametrize(
    ("size", "pattern"),
    # SciPy goes through all signs of 13 pairs with ties or zeros: seconds, so once.
    [(13, "tied"), (13, "ramp"), *product([5, 14, 50, 51, 100], ["ramp", "tied", "zeros"])],
)
def test_the_p_value_is_that_of_scipys_defaults(size, pattern):
    ramp = np.arange(1, size + 1) * np.where(np.arange(size) % 3 == 0, -1.0, 1.0)
    differences = {"ramp": ramp, "tied": np.sign(ramp) * (np.abs(ramp) // 2 + 1), "zeros": ramp * (np.abs(ramp) > 2)}
    expected: Any = stats.wilcoxon(differences[pattern])
    result = signed_rank(differences[pattern])
    assert (result.statistic, result.p_value) == (expected.statistic, expected.pvalue)


def test_zeros_are_dropped_and_counted():
    result = signed_rank(np.array([0.0, 1.0, 0.0, 2.0]))
    assert (result.pair_count, result.nonzero_count, result.p_value, result.effect_size) == (4, 2, 0.5, 1.0)


def test_equal_scores_computed_in_different_ways_are_zero_differences():
    result = signed_rank(np.array([0.1 + 0.2 - 0.3, 1.0]))
    assert result.nonzero_count == 1


@pytest.mark.parametrize("differences", [[0.0, 0.0, 5.0], [0.0, 0.0], []])
def test_fewer_than_two_differences_are_not_tested_and_noted(differences):
    result = signed_rank(np.array(differences))
    assert result[2:6] == (None, None, None, None)
    assert (
        result.note
        == f"no test: {sum(d != 0 for d in differences)} of {len(differences)} differences are not zero, 2 are needed"
    )


def test_mcnemar_is_the_binomial_of_the_discordant_pairs():
    a = np.array([1, 1, 1, 1, 1, 0, 1, 0], dtype=float)
    b = np.array([0, 0, 0, 0, 0, 1, 1, 0], dtype=float)
    result = mcnemar_exact(a[None], b[None])
    assert (result.instance_count, result.only_a_count, result.only_b_count) == (8, 5, 1)
    assert result.p_value == pytest.approx(2 * (1 + 6) / 64)


def test_mcnemar_without_a_discordant_pair_is_not_run():
    assert mcnemar_exact(np.array([[1.0, 0.0]]), np.array([[1.0, 0.0]])).note == "no test: no instance is discordant"


def test_pairs_of_one_instance_count_once_by_majority():
    missing = np.nan
    # by instance: twice only a; a, b and neither; once only b, one pair missing; both; no pair at all
    a = np.array([[1, 1, 0, 1, missing], [1, 0, missing, 1, missing], [0, 0, 0, 1, missing]], dtype=float)
    b = np.array([[0, 0, 1, 1, missing], [0, 1, missing, 1, missing], [0, 0, 0, 1, missing]], dtype=float)
    result = mcnemar_exact(a, b)
    assert (result.instance_count, result.only_a_count, result.only_b_count, result.p_value) == (4, 1, 1, 1.0)
