"""What generators draw over many seeds: recorded episodes are compared by seed, so a draw never changes."""

import hashlib
import random

import pytest

from carryover.tasks.cave.suites import long_horizon, multi_variable, types
from carryover.tasks.cave.suites.values import as_json
from carryover.tasks.cave.suites.worlds import Brokerage, Building, Shop
from carryover.tasks.services.source_digest import canonical_json

SEEDS = range(150)
WORLDS = {"home": long_horizon._home, "bank": long_horizon._bank}
HOSTS = {"building": Building, "brokerage": Brokerage, "shop": Shop}
MAKERS = {**types._SIMPLE, **types._OBJECT, **types._SCIENTIFIC, "teams": types._teams}
DRAWS = {
    **{name: lambda source, make=make: make(source).state() for name, make in {**WORLDS, **HOSTS}.items()},
    **{name: lambda source, make=make: as_json(make(source)) for name, make in MAKERS.items()},
    "variables": lambda source: [multi_variable._value(f"amber_{thing}", source) for thing in multi_variable._THINGS],
    "names": lambda source: multi_variable._names(source, ["amber", "birch"], source.randrange(5, 15)),
    "values of types": types._values,
    "values of homes": lambda source: long_horizon._values(("a", "b", "c"), source),
}
KEPT = {
    "home": "9939b80a249e",
    "bank": "8ff03ff32060",
    "building": "e1b8b367227c",
    "brokerage": "77181b28712b",
    "shop": "67fd1ad208b7",
    "whole number": "02025eaddc7c",
    "truth": "3f40531d69dc",
    "fraction": "edd3f341bbad",
    "text": "9aa8d14b11d1",
    "list": "b5661a707397",
    "dictionary": "aebbf1a5fe50",
    "set": "794635be3876",
    "Thermostat": "5329348b3908",
    "Account": "86b5bd4fb47c",
    "Playlist": "49b8c22d9a15",
    "Shelf": "0bd01f54c444",
    "Robot": "89ba2f800c40",
    "Course": "b5f061bea595",
    "array": "a16df594205d",
    "matrix": "611fde3f9a1d",
    "frame": "75d301b8d725",
    "series": "fcb35bc2e855",
    "tables": "a6769e0a0e23",
    "teams": "3354185efc01",
    "variables": "cedcb199d853",
    "names": "d2c89f5c8ac2",
    "values of types": "fb606a82f66d",
    "values of homes": "3f8134f865e8",
}


@pytest.mark.parametrize("name", DRAWS)
def test_draws_are_the_kept_ones(name):
    drawn = [DRAWS[name](random.Random(seed)) for seed in SEEDS]
    assert hashlib.sha256(canonical_json(drawn).encode()).hexdigest()[:12] == KEPT[name]


def test_the_home_begins_within_its_ranges():
    begun = [long_horizon._home(random.Random(seed)).variables for seed in range(400)]
    seen = {
        "light": {one["hall_light"].brightness for one in begun} | {one["study_light"].brightness for one in begun},
        "volume": {one["player"].volume for one in begun},
        "closed": {one["blinds"].closed for one in begun},
        "target": {one["heating"].target for one in begun},
        "hour": {one["sensors"].hour for one in begun},
    }
    assert seen == {
        "light": {*range(0, 100, 5)},
        "volume": {*range(0, 80, 5)},
        "closed": {*range(0, 100, 10)},
        "target": {*range(16, 24)},
        "hour": {*range(6, 12)},
    }


def test_it_is_coldest_at_3_and_warmest_at_15():
    degrees = long_horizon._outside(-2)
    assert degrees == [1, 0, -1, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 9, 8, 7, 6, 5, 4, 3, 2]
