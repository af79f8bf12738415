"""Defaults of a family that its author leaves out, whole."""

import pytest

from carryover.tasks.families.check import MAX_TURNS, MOST_FAULTS, STUDY_INSTANCES, TAUGHT_EPISODES
from carryover.tasks.families.choose import SHIPPED
from carryover.tasks.families.family import Family
from tests.presets import as_kept, kept_presets

DECLARED = {
    "family": {name: getattr(Family, name) for name in Family.__annotations__},
    "shipped": SHIPPED,
    "check": [TAUGHT_EPISODES, MAX_TURNS, MOST_FAULTS, STUDY_INSTANCES],
}


@pytest.mark.parametrize("name", DECLARED)
def test_defaults_are_the_kept_ones(name):
    assert as_kept({name: DECLARED[name]})[name] == kept_presets(__file__)[name]
