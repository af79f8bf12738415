"""Which episode stands beside which."""

from itertools import product

import pytest

from carryover.tasks.services.errors import UserError
from carryover.tasks.viewer.pairing import SAME, find_episode, partner_of


def row(condition, *, number=1, model="sft", **values):
    same = dict.fromkeys(SAME, "same") | {"instance_id": f"i{number}"}
    return {**same, "condition": condition, "instance_number": number, "model": model, **values}


CELLS = [row(condition) for condition in ("P->P", "P->S", "S->P", "S->S")]


@pytest.mark.parametrize(
    ("condition", "partner"), [("P->S", "P->P"), ("S->P", "S->S"), ("P->P", "P->S"), ("S->S", "S->P")]
)
def test_a_cell_stands_beside_the_other_runtime_of_its_model(condition, partner):
    episode = next(each for each in CELLS if each["condition"] == condition)
    assert partner_of(CELLS, episode)["condition"] == partner


@pytest.mark.parametrize(
    ("condition", "partner"), [("P->P", "P->S"), ("S->S", "S->P"), ("I->I", "I->P"), ("P->I", "P->P"), ("P->S", "P->P")]
)
def test_an_aligned_cell_of_four_contracts_prefers_the_2x2(condition, partner):
    letters = ("I", "P", "R", "S")
    episodes = [row(f"{train}->{runtime}") for train, runtime in product(letters, repeat=2)]
    episode = next(each for each in episodes if each["condition"] == condition)
    assert partner_of(episodes, episode)["condition"] == partner


def test_another_seed_is_no_partner():
    episodes = [row("P->S"), row("P->P", training_seed=1), row("S->S")]
    assert partner_of(episodes, episodes[0])["condition"] == "S->S"


def test_a_contract_s_name_that_begins_like_another_is_not_it():
    episodes = [row("I->S"), row("I->IP"), row("I->I")]
    assert partner_of(episodes, episodes[0])["condition"] == "I->I"


def test_an_episode_alone_has_no_partner():
    with pytest.raises(UserError, match="instance 1 has no episode beside P->S"):
        partner_of([CELLS[1]], CELLS[1])


NAMED = [row("P->S", number=number, instance_id=name) for number, name in ((2, "i11"), (1, "i1"), (12, "2"))]


@pytest.mark.parametrize(("instance", "found"), [("i1", "i1"), ("i11", "i11"), ("2", "2"), ("12", "2"), ("1", "i1")])
def test_an_instance_s_whole_name_goes_before_a_beginning(instance, found):
    assert find_episode(NAMED, "P->S", instance)["instance_id"] == found


def test_a_beginning_of_several_instances_is_refused():
    with pytest.raises(UserError, match="several instances start with 'i': i1, i11; give the whole name"):
        find_episode(NAMED, "P->S", "i")


def test_a_beginning_of_one_instance_names_it():
    assert find_episode(NAMED, "P→S", "i11") == find_episode([*NAMED, NAMED[0]], "P->S", "i11")
    again = [row("P->S", number=3, instance_id="abc"), row("P->S", number=3, instance_id="abc", replicate=2)]
    assert find_episode(again, "P->S", "ab") is again[0]


@pytest.mark.parametrize(
    ("episodes", "cell", "instance", "told"),
    [
        ([], "P->S", "1", "no episode of cell 'P->S'; choose from none"),
        (CELLS * 2, "I→S", "1", "no episode of cell 'I→S'; choose from P->P, P->S, S->P, S->S"),
        (NAMED, "P→S", "13", "no episode of P->S on instance '13'; choose from 1 to 12, or give an id"),
        (NAMED, "P->S", "x", "no episode of P->S on instance 'x'; choose from 1 to 12, or give an id"),
        (NAMED, "P->S", "", "several instances start with '': 2, i1, i11; give the whole name"),
        (
            [row("P->S", instance_id=f"n{number}") for number in range(9)],
            "P->S",
            "n",
            "several instances start with 'n': n0, n1, n2, n3, n4; give the whole name",
        ),
    ],
)
def test_an_episode_that_is_not_there_is_told_with_the_choices(episodes, cell, instance, told):
    with pytest.raises(UserError) as refused:
        find_episode(episodes, cell, instance)
    assert str(refused.value) == told


def test_without_a_counterpart_any_other_cell_stands_beside():
    episodes = [row("P->S"), row("S->S"), row("S->P")]
    assert partner_of(episodes, episodes[0])["condition"] == "S->S"
    assert partner_of(episodes, episodes[1])["condition"] == "S->P"


@pytest.mark.parametrize("column", SAME)
def test_a_pair_agrees_in_every_setting(column):
    episode = row("P->S")
    with pytest.raises(UserError):
        partner_of([episode, {**row("P->P"), column: "other"}], episode)


def test_a_trained_model_goes_before_a_script():
    script = row("P->S", model="teacher", base="teacher")
    assert find_episode([script, CELLS[1]], "P->S", "1") is CELLS[1]
