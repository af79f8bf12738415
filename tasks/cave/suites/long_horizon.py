"""Long conversations of 20 turns that build on each other (section 4.2)."""

import random
from collections.abc import Sequence
from functools import partial

from carryover.tasks.cave.suites.case import Case, World, grow_turns
from carryover.tasks.cave.suites.templates import read_draws

CASES_PER_TIER = 2
TURN_COUNT = 20
_ROOMS = ("hall", "kitchen", "study", "bedroom", "attic")
_ACCOUNTS = ("checking", "savings", "holiday", "taxes")
_BOOKINGS = (
    "One text per booking, in order: 'A>B CENTS' for a move, 'interest A CENTS', 'fee A CENTS', 'level A B', "
    "'deposit A CENTS', 'collect A CENTS'. Changes of a rate are no booking."
)


def long_horizon_cases(seed: int) -> list[Case]:
    """Return two conversations with a smart home, two about accounts."""
    tiers = {"smart_home": (_home, _ROOMS), "financial_account": (_bank, _ACCOUNTS)}
    cases = []
    for tier, (open_world, names) in tiers.items():
        pool = read_draws("long_horizon", tier, partial(_values, names))
        for number in range(CASES_PER_TIER):
            random_source = random.Random(f"long_horizon {tier} {number} {seed}")
            world = open_world(random_source)
            cases.append(
                Case("long_horizon", tier, number, world, grow_turns(random_source, world, [pool] * TURN_COUNT))
            )
    return cases


def _home(random_source: random.Random) -> World:
    described = {
        "lights": "Brightness of each room's light, 0 to 100; 0 is off.",
        "heating": "Target temperature of each room in degrees.",
        "blinds": "How far each room's blind is closed, 0 to 100.",
        "locked": "Whether each room's door is locked.",
    }
    variables = {
        "lights": {room: random_source.randrange(0, 100, 5) for room in _ROOMS},
        "heating": {room: random_source.randrange(16, 24) for room in _ROOMS},
        "blinds": {room: random_source.randrange(0, 100, 10) for room in _ROOMS},
        "locked": {room: random_source.random() < 0.5 for room in _ROOMS},
    }
    return World(variables=variables, descriptions=described)


def _bank(random_source: random.Random) -> World:
    described = {
        "balance": "Whole cents on each account.",
        "rate": "Yearly interest of each account in basis points (hundredths of a percent).",
        "ledger": _BOOKINGS,
    }
    variables = {
        "balance": {name: random_source.randrange(50_000, 900_000) for name in _ACCOUNTS},
        "rate": {name: random_source.randrange(10, 400) for name in _ACCOUNTS},
        "ledger": [],
    }
    return World(variables=variables, descriptions=described)


def _values(names: Sequence[str], random_source: random.Random) -> dict[str, object]:
    x, y = random_source.sample(names, 2)
    return {
        "x": x,
        "y": y,
        "step": random_source.randrange(5, 31, 5),
        "cents": random_source.randrange(900, 90_000),
    }
