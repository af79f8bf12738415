"""Buckets of the knapsack and habits of its teachers, whole."""

import pytest

from carryover.tasks.knapsack.knapsack_spec import KNAPSACK, KnapsackSpec
from carryover.tasks.knapsack.teachers.habits import Habits
from tests.presets import as_kept, constraints, kept_presets

DECLARED = {
    **{f"constraints of {spec.__name__}": constraints(spec) for spec in (KnapsackSpec,)},
    **KNAPSACK,
    "habits": Habits(),
}


@pytest.mark.parametrize("name", DECLARED)
def test_buckets_and_habits_are_the_kept_ones(name):
    assert as_kept({name: DECLARED[name]})[name] == kept_presets(__file__)[name]
