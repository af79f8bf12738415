"""Likely lengths of examples that are not here yet."""

import pytest

from carryover.tasks.sft.example_lengths import ExpectedExamples, LengthRange, likely_lengths


@pytest.mark.parametrize("known", [LengthRange(2690, 4630.6, 13008), LengthRange(100, 700.0, 800)])
def test_lengths_keep_the_range_and_the_mean(known):
    lengths = likely_lengths(known, 1000)
    assert known.smallest <= lengths[0] < lengths[-1] <= known.largest
    assert sum(lengths) / 1000 == pytest.approx(known.mean, rel=1e-4)


@pytest.mark.parametrize("count", [1, 2, 3, 10])
def test_few_examples_keep_the_mean_too(count):
    assert sum(likely_lengths(LengthRange(100, 300.0, 16_000), count)) / count == pytest.approx(300, abs=0.5)


def test_examples_crowd_on_the_side_of_the_mean():
    short, long = likely_lengths(LengthRange(0, 250.0, 1000), 101), likely_lengths(LengthRange(0, 750.0, 1000), 101)
    assert short[50] < 250
    assert long[50] == 1000 - short[50]


def test_a_mean_in_the_middle_spreads_examples_evenly():
    assert likely_lengths(LengthRange(0, 50.0, 100), 5) == (10, 30, 50, 70, 90)


def test_examples_of_one_known_length_have_it():
    assert likely_lengths(LengthRange(7, 7.0, 7), 3) == (7, 7, 7)


def test_the_mean_is_over_all_examples():
    assert ExpectedExamples((1, 2, 6), "a guess").mean_tokens == 3
