"""Columns of every table, and the closed choices in them, whole."""

from enum import EnumType
from typing import get_args

import pytest

from carryover.tasks.traces import vocabulary
from carryover.tasks.traces.tables import TABLES
from tests.presets import as_kept, kept_presets


def columns(row):
    """Return a table's columns, each with its type, its default, and whether a description tells what it holds."""
    return {
        name: [str(field.annotation), str(field.default), field.description is not None]
        for name, field in row.model_fields.items()
    }


def choices(held):
    if isinstance(held, EnumType):
        return list(held)
    return list(get_args(held)) or held


WORDS = [name for name, held in vars(vocabulary).items() if held and name[0].isupper()]
DECLARED = {name: columns(row) for name, row in TABLES.items()} | {
    name: choices(getattr(vocabulary, name)) for name in WORDS if name not in ("Literal", "StrEnum")
}


@pytest.mark.parametrize("name", DECLARED)
def test_columns_and_choices_are_the_kept_ones(name):
    assert as_kept({name: DECLARED[name]})[name] == kept_presets(__file__)[name]
