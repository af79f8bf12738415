"""Which parts of a study a night plays, and as what."""

import pytest

from carryover.tasks.nightly.night_spec import NightObject
from carryover.tasks.nightly.parts import night_parts
from carryover.tasks.plans.models import ALL_CELLS, ChosenCells
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.services.errors import UserError

FULL = resolve_plan("laptop_full")
ENDPOINT = NightObject(endpoint_url="http://127.0.0.1:8/v1", endpoint_model="m")


def names(chosen, night=NightObject()):  # noqa: B008 - frozen
    return [part.name for part in night_parts(FULL, chosen, night)]


def test_a_night_plays_the_parts_of_the_study_that_have_evaluations_of_its_own():
    played = names(ALL_CELLS)
    (arm,) = (part for part in FULL.parts if part.name == "a-a")  # the study's models under rules of another arm
    assert arm.variant == FULL.parts[0].variant
    assert [part.name for part in FULL.parts if part.variant == arm.variant and part != arm] == played
    assert night_parts(FULL, ALL_CELLS, NightObject(seeds=1))[3] == NightObject().part(FULL.parts[3])


@pytest.mark.parametrize(
    ("model", "parts"),
    [("persistent-1", ["scratch-1", "common-1", "both"]), ("stateless-5", ["scratch-5", "common-5"])],
)
def test_a_chosen_model_is_played_in_its_own_parts(model, parts):
    assert names(ChosenCells(model=model)) == parts


def test_the_base_is_played_where_it_has_rows():
    assert names(ChosenCells(model="base")) == ["scratch-rules", "common-1", "common-2", "common-3", "both"]


def test_an_endpoints_model_plays_the_first_part():
    assert night_parts(FULL, ALL_CELLS, ENDPOINT) == [ENDPOINT.part(FULL.parts[0])]
    assert names(ChosenCells(model="m"), ENDPOINT) == ["scratch-1"]


@pytest.mark.parametrize(
    ("chosen", "night", "said"),
    [
        ({"model": "persistent-9"}, NightObject(), "no cell --model persistent-9; choose --model from persistent-1, "),
        ({"model": "base", "runtime_contract": "recent-1"}, NightObject(), "--model base --runtime-contract recent-1;"),
        ({"runtime_contract": "recent-1"}, NightObject(), "--runtime-contract from persistent, stateless$"),
        ({"model": "persistent-1"}, ENDPOINT, "no cell --model persistent-1; choose --model from m, "),
    ],
)
def test_cells_that_no_part_has_are_refused_with_the_choices(chosen, night, said):
    with pytest.raises(UserError, match=said):
        night_parts(FULL, ChosenCells(**chosen), night)
