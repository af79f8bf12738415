"""Long conversations of 20 turns that build on each other (section 4.2)."""

import random
from collections.abc import Sequence
from functools import partial

from carryover.tasks.cave.suites.case import Case, World, grow_turns
from carryover.tasks.cave.suites.devices import DEVICES, Blinds, Camera, Door, Heating, Light, Player, Sensors
from carryover.tasks.cave.suites.templates import read_draws

CASES_PER_TIER = 2
TURN_COUNT = 20
_LIGHTS = ("hall_light", "study_light")
_ACCOUNTS = ("checking", "savings", "holiday", "taxes")
_BOOKINGS = (
    "One text per booking, in order: 'A>B CENTS' for a move, 'interest A CENTS', 'fee A CENTS', 'level A B', "
    "'deposit A CENTS', 'collect A CENTS'. Changes of a rate are no booking."
)


def long_horizon_cases(seed: int) -> list[Case]:
    """Return two conversations with a smart home, two about accounts."""
    tiers = {"smart_home": (_home, _LIGHTS), "financial_account": (_bank, _ACCOUNTS)}
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
        "hall_light": "The light in the hall.",
        "study_light": "The light in the study.",
        "sensors": "The clock, and what is measured outside and at the door.",
    }
    night = random_source.randrange(-4, 12)
    variables = {
        "hall_light": Light(random_source.randrange(0, 100, 5)),
        "study_light": Light(random_source.randrange(0, 100, 5)),
        "player": Player(random_source.randrange(0, 80, 5), is_playing=random_source.random() < 0.5),
        "blinds": Blinds(random_source.randrange(0, 100, 10)),
        "heating": Heating(random_source.randrange(16, 24), "manual"),
        "camera": Camera(is_recording=False, clips=[]),
        "door": Door(is_locked=random_source.random() < 0.5, opened=0),
        "sensors": Sensors(random_source.randrange(6, 12), _outside(night), has_motion=False),
    }
    return World(variables=variables, types=DEVICES, descriptions=described)


def _outside(night: int) -> list[int]:
    """Return degrees by hour: coldest at 3, warmest at 15 o'clock."""
    return [night + 12 - abs((hour - 15 + 12) % 24 - 12) for hour in range(24)]


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
        "level": random_source.choice([*Light.LEVELS]),
        "loudness": random_source.choice([*Player.LEVELS]),
        "hours": random_source.randrange(2, 10),
    }
