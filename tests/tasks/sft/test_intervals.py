"""A kill loses little of a training, however few its steps are."""

import math

import pytest

from carryover.tasks.sft.trainer import Intervals, find_intervals
from carryover.tasks.sft.training_spec import TRAINING

PAPER = TRAINING["paper"]


@pytest.mark.parametrize(
    ("step_count", "expected"),
    [
        (1000, Intervals(10, 100, 100)),  # the spec's own
        (300, Intervals(10, 70, 30)),  # a quarter is 75, a tenth 30
        (54, Intervals(5, 10, 5)),  # the paper's persistent arm: a quarter is 14, a tenth 5
        (30, Intervals(3, 6, 3)),
        (9, Intervals(1, 3, 1)),
        (1, Intervals(1, 1, 1)),
    ],
)
def test_checkpoint_intervals_follow_the_spec_or_a_quarter_of_steps(step_count, expected):
    assert find_intervals(PAPER, step_count) == expected


def test_a_kill_loses_at_most_a_quarter_of_the_steps():
    for step_count in range(1, 2000):
        logging, saving, validation = find_intervals(PAPER, step_count)
        assert 1 <= saving <= math.ceil(step_count / 4)
        assert saving % logging == validation % logging == 0
        assert step_count // validation >= min(10, step_count)
