"""The tables of doses, scripts and contracts give exactly the rows that `dose_rows` works out for `dose_study`."""

from pathlib import Path

import pytest

from tests.empty_warehouse import open_empty_memory
from tests.sql.dose_study import (
    add_batches,
    add_contracts,
    add_control,
    add_lifetimes,
    add_mixture,
    add_reinforcements,
    add_scripts,
)
from tests.sql.hand_made_warehouse import HandMade
from tests.sql.written_rows import read_rows, write_row

ROWS = Path(__file__).parent / "dose_rows"
PLANS = {
    "batches": "batches",
    "mixture": "mixture",
    "lifetimes": "lifetimes",
    "four_contracts": "contracts",
    "injection": "contracts",
    "script_control": "control",
    "side_by_side": "scripts",
    "mechanism": "scripts",
    "repair": "scripts",
    "seed_contrasts": "scripts",
    "cells": "scripts",
    "reinforcement": "reinforced",
}
"""The plan that each table is asked of."""


@pytest.fixture(scope="module")
def study():
    made = HandMade(open_empty_memory())
    for add in (add_batches, add_contracts, add_control, add_lifetimes, add_mixture, add_reinforcements, add_scripts):
        add(made)
    return made


@pytest.mark.parametrize("name", sorted(PLANS))
def test_table_of_several_settings_gives_the_rows_worked_out_by_hand(study, name):
    expected = read_rows((ROWS / f"{name}.txt").read_text(encoding="utf-8"))
    assert [write_row(row) for row in study.table(name, PLANS[name])] == expected
