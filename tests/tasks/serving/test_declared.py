"""Settings of a server, whole."""

import pytest

from carryover.tasks.serving.serving_spec import SERVED_RANKS, ServedModels, ServingSpec
from tests.presets import as_kept, constraints, kept_presets

DECLARED = {
    **{f"constraints of {spec.__name__}": constraints(spec) for spec in (ServingSpec,)},
    "serving": ServingSpec(),
    "models": ServedModels(base="base"),
    "ranks": SERVED_RANKS,
}


@pytest.mark.parametrize("name", DECLARED)
def test_settings_are_the_kept_ones(name):
    assert as_kept({name: DECLARED[name]})[name] == kept_presets(__file__)[name]
