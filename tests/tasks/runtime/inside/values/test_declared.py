"""Types that travel, and ways out for others, whole."""

import pytest

from carryover.tasks.runtime.inside.values import frames, plain, science, standard
from tests.presets import as_kept, kept_presets

DECLARED = {
    "hints": standard.HINTS,
    "plain": [*plain.CODECS],
    "plain classes": [*plain.CLASSES],
    "standard": [name for name in standard.CODECS if not name.startswith("builtins.")],
    "science": [*science.CODECS],
    "frames": [*frames.CODECS],
    "pictures": [*frames.PICTURES],
}


@pytest.mark.parametrize("name", DECLARED)
def test_tables_are_the_kept_ones(name):
    assert as_kept({name: DECLARED[name]})[name] == kept_presets(__file__)[name]
