"""Defaults of a family that its author leaves out, whole."""

import pytest

from carryover.tasks.families.check import MAX_TURNS, MOST_FAULTS, STUDY_INSTANCES, TAUGHT_EPISODES
from carryover.tasks.families.choose import SHIPPED, open_own_family
from carryover.tasks.families.family import Family
from tests.presets import as_kept, kept_presets


def declared(family):
    """Return what a family's class declares, without its methods."""
    held = {name: getattr(family, name) for name in dir(family) if name[0] != "_"}
    return {name: value for name, value in held.items() if not callable(value)}


FAMILIES = {name: declared(type(open_own_family(name).family)) for name in SHIPPED}
DECLARED = {
    **FAMILIES,
    "family": {name: getattr(Family, name) for name in Family.__annotations__},
    "shipped": SHIPPED,
    "check": [TAUGHT_EPISODES, MAX_TURNS, MOST_FAULTS, STUDY_INSTANCES],
}


@pytest.mark.parametrize("name", DECLARED)
def test_defaults_are_the_kept_ones(name):
    assert as_kept({name: DECLARED[name]})[name] == kept_presets(__file__)[name]
