"""Long conversations whose turns build on each other: two of 20 turns each (arXiv 2601.01569, section 4.2)."""

import random
from collections.abc import Callable, Sequence

from carryover.tasks.cave.suites.case import Case, Draw, Turn, World, grow_turns
from carryover.tasks.cave.suites.templates import fill, read_templates

CASES_PER_TIER, TURN_COUNT = 2, 20
_ROOMS = ("hall", "kitchen", "study", "bedroom", "attic")
_ACCOUNTS = ("checking", "savings", "holiday", "taxes")
_BOOKINGS = (
    "One text per booking, in order: 'A>B CENTS' for a move, 'interest A CENTS', 'fee A CENTS', 'level A B', "
    "'deposit A CENTS', 'collect A CENTS'. Changes of a rate are no booking."
)


def long_horizon_cases(seed: int) -> list[Case]:
    """Return two conversations with a smart home by relative commands, and two about accounts in whole cents."""
    tiers: dict[str, tuple[Callable[[random.Random], World], Draw]] = {
        "smart_home": (_home, _command("smart_home", _ROOMS)),
        "financial_account": (_bank, _command("financial_account", _ACCOUNTS)),
    }
    cases = []
    for tier, (open_world, draw) in tiers.items():
        for number in range(CASES_PER_TIER):
            random_source = random.Random(f"long_horizon {tier} {number} {seed}")
            world = open_world(random_source)
            pools: Sequence[Sequence[Draw]] = [[draw]] * TURN_COUNT
            cases.append(Case("long_horizon", tier, number, world, grow_turns(random_source, world, pools)))
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


def _command(tier: str, names: Sequence[str]) -> Draw:
    templates = read_templates("long_horizon")[tier]

    def draw(random_source: random.Random, _world: World) -> Turn:
        x, y = random_source.sample(names, 2)
        values = {
            "x": x,
            "y": y,
            "step": random_source.randrange(5, 31, 5),
            "cents": random_source.randrange(900, 90_000),
        }
        return fill(random_source.choice(templates), values)

    return draw
