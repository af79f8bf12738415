from math import atan, pi

import numpy as np
import pytest

from carryover.tasks.analysis.decisions import (
    holm,
    smallest_detectable_difference,
    two_one_sided_shares,
    two_one_sided_tests,
)


def verdict(result):
    return result.verdict(result.p_value, 0.05)


def test_equivalence_is_the_larger_of_two_one_sided_t_tests():
    result = two_one_sided_tests(np.array([-0.01, 0.01, -0.01, 0.01]), margin=0.05, alpha=0.05)
    # standard error 0.01 / sqrt(3), so both t are 5 sqrt(3); Student's t with 3 degrees at 5 sqrt(3) in closed form
    assert result.p_value == pytest.approx(0.5 - (5 / 26 + atan(5)) / pi)
    assert verdict(result) == "equivalent"
    assert (result.low, result.high) == (pytest.approx(-0.0135871, abs=1e-6), pytest.approx(0.0135871, abs=1e-6))


def test_a_difference_beyond_the_margin_is_not_equivalent():
    assert verdict(two_one_sided_tests(np.array([0.09, 0.11, 0.1]), margin=0.05, alpha=0.05)) == "equivalence not shown"


def test_the_corrected_p_value_decides():
    result = two_one_sided_tests(np.array([-0.01, 0.01, -0.01, 0.01]), margin=0.05, alpha=0.05)
    assert result.verdict(0.051, 0.05) == "equivalence not shown"


@pytest.mark.parametrize(("value", "expected"), [(0.0, "identical"), (0.01, "no test"), (-0.06, "no test")])
def test_differences_without_spread_are_not_tested(value, expected):
    result = two_one_sided_tests(np.full(3, value), margin=0.05, alpha=0.05)
    assert (result.p_value, verdict(result)) == (None, expected)
    assert result.note == f"no test: all 3 differences equal {value:g}"


def test_equivalence_by_resamples_is_the_larger_share_beyond_the_margin():
    resampled = np.concatenate([np.full(3, -0.05), np.full(94, 0.01), np.full(2, 0.06), [np.nan]])
    result = two_one_sided_shares(resampled, margin=0.05, alpha=0.05, drawn="100 resamples")
    # three of 99 at the lower end, two above the upper one, and the sample itself
    assert (result.p_value, verdict(result), result.low, result.high) == (4 / 100, "equivalent", 0.01, 0.01)
    assert result.method == "bootstrap percentile, 100 resamples, margin 0.05, alpha 0.05"
    assert result.note == "1 of 100 resamples are undefined and left out"
    narrow = two_one_sided_shares(resampled, margin=0.01, alpha=0.05, drawn="100 resamples")
    assert verdict(narrow) == "equivalence not shown"


@pytest.mark.parametrize(("value", "expected"), [(0.0, "identical"), (-0.06, "no test")])
def test_resamples_without_spread_are_not_tested(value, expected):
    result = two_one_sided_shares(np.full(10, value), margin=0.05, alpha=0.05, drawn="10 resamples")
    assert (result.p_value, verdict(result)) == (None, expected)
    assert result.note == f"no test: the difference is {value:g} in every resample"


def test_resamples_without_any_value_decide_nothing():
    result = two_one_sided_shares(np.full(10, np.nan), margin=0.05, alpha=0.05, drawn="10 resamples")
    assert (verdict(result), result.note) == ("no test", "no test: no resample has a value")


def test_one_pair_is_not_tested():
    assert two_one_sided_tests(np.array([0.1]), margin=0.05, alpha=0.05).note == "no test: 1 pairs, 2 are needed"


def test_smallest_detectable_difference_is_2_8_standard_errors():
    # standard error of (-1, 1, -1, 1) is sqrt(4 / 3) / 2
    expected = (1.959964 + 0.841621) * (4 / 3) ** 0.5 / 2
    assert smallest_detectable_difference(np.array([-1.0, 1, -1, 1]), alpha=0.05, power=0.8) == pytest.approx(expected)
    assert smallest_detectable_difference(np.array([1.0]), alpha=0.05, power=0.8) is None


@pytest.mark.parametrize("value", [0.0, 0.25])
def test_differences_without_spread_have_no_smallest_detectable_one(value):
    assert smallest_detectable_difference(np.full(3, value), alpha=0.05, power=0.8) is None


def test_holm_steps_down_and_never_falls():
    assert holm([0.01, 0.04, 0.03]) == [pytest.approx(0.03), pytest.approx(0.06), pytest.approx(0.06)]


def test_an_untestable_comparison_stays_in_holms_family():
    assert holm([0.01, 0.04, None, None]) == [pytest.approx(0.04), pytest.approx(0.12), None, None]


def test_holm_stops_at_one():
    assert holm([0.9, 0.8]) == [1.0, 1.0]
