import hashlib

import pytest

from carryover.tasks.agent.variation import Variation, draw_variation, wordings

PERSISTENT = {"runtime": "persistent", "active_globals": ["ids", "items"], "last_step_globals": ["ids", "items"]}
RESET = {"runtime": "reset", "active_globals": [], "last_step_globals": ["ids", "items"]}

DRAWN = {
    "persistent": "ab34fe352fc0800f",
    "stateless": "bf3e04df8a7de7b7",
    "injected": "6eb1fee7d300d3e6",
    "injected+persistent": "0c73ebc83c54a9a7",
}
"""Digests of what 400 instances are told: models are trained on it."""


def draws(contract):
    return [draw_variation(contract, f"instance {number}") for number in range(400)]


def test_the_standard_variation_changes_nothing():
    standard = Variation(None, "standard")
    assert standard.instruction("As it is.") == "As it is."
    assert standard.header(PERSISTENT, ["ids"]) == PERSISTENT


def test_new_names_are_empty_without_new_bindings():
    header = Variation(None, "new_names").header(PERSISTENT, ["ids", "items"])
    assert header == {"runtime": "persistent, not reset", "new_globals": []}


def test_new_names_are_all_names_in_a_fresh_environment():
    header = Variation(None, "new_names").header(RESET, [])
    assert header == {"runtime": "reset, not persistent", "new_globals": ["ids", "items"]}


def test_an_episode_without_header_shows_none():
    assert Variation(None, "none").header(RESET, []) is None


def test_both_contracts_vary_in_the_same_episodes():
    pairs = zip(draws("persistent"), draws("stateless"), strict=True)
    assert all(
        (p.wording is None, p.wording == "", p.header_form) == (s.wording is None, s.wording == "", s.header_form)
        for p, s in pairs
    )


@pytest.mark.parametrize(("contract", "digest"), DRAWN.items())
def test_an_instance_is_told_the_same_everywhere(contract, digest):
    told = [f"{drawn.wording} {drawn.header_form}" for drawn in draws(contract)]
    assert hashlib.sha256("\n".join(told).encode()).hexdigest()[:16] == digest


def test_each_share_is_as_stated():
    drawn = draws("persistent")
    assert 130 < sum(variation.wording is None for variation in drawn) < 190  # 160 expected
    assert 40 < sum(variation.wording == "" for variation in drawn) < 80  # 60
    assert 90 < sum(variation.header_form == "none" for variation in drawn) < 150  # 120


def test_a_contract_without_wordings_keeps_its_instruction_or_is_silent():
    assert {variation.wording for variation in draws("last two steps")} == {None, ""}


def test_wordings_name_what_injection_binds():
    assert wordings("injected", ("seen", "taken", "room"))[1] == (
        "Every block is fresh, but seen, taken and room are bound anew."
    )
    assert wordings("last two steps") == ()
