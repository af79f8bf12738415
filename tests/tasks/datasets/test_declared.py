"""Checks of traces and form of training text, whole."""

import pytest

from carryover.tasks.datasets.dataset_spec import DatasetSpec, ValidationSpec
from carryover.tasks.datasets.validation import rules
from tests.presets import as_kept, constraints, kept_presets

DECLARED = {
    **{f"constraints of {spec.__name__}": constraints(spec) for spec in (ValidationSpec, DatasetSpec)},
    "validation": ValidationSpec(),
    "dataset": DatasetSpec(),
    "rules": rules(ValidationSpec()),
}


@pytest.mark.parametrize("name", DECLARED)
def test_checks_and_options_are_the_kept_ones(name):
    assert as_kept({name: DECLARED[name]})[name] == kept_presets(__file__)[name]
