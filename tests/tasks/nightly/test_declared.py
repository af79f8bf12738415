"""Thresholds and defaults of a night, whole."""

import pytest

from carryover.tasks.nightly.night_spec import NightObject, Thresholds
from tests.presets import as_kept, constraints, kept_presets

DECLARED = {
    **{f"constraints of {spec.__name__}": constraints(spec) for spec in (Thresholds, NightObject)},
    "thresholds": Thresholds(),
    "night": NightObject(),
}


@pytest.mark.parametrize("name", DECLARED)
def test_thresholds_are_the_kept_ones(name):
    assert as_kept({name: DECLARED[name]})[name] == kept_presets(__file__)[name]
