"""The token study: three domains of interdependent functions, 48 turns (arXiv 2601.01569, Table 4)."""

import random

from carryover.tasks.cave.suites.case import Case, Draw, Turn, World, grow_turns
from carryover.tasks.cave.suites.templates import fill, read_templates
from carryover.tasks.cave.suites.worlds import (
    ACCOUNTS,
    CATEGORIES,
    CUSTOMERS,
    ROOMS,
    TICKERS,
    Brokerage,
    Building,
    Shop,
    open_world,
)

CASES_PER_DOMAIN, TURN_COUNT = 2, 8
_DOMAINS = {"iot": (Building, ROOMS), "finance": (Brokerage, ACCOUNTS), "shop": (Shop, CUSTOMERS)}


def token_efficiency_cases(seed: int, turn_count: int = TURN_COUNT) -> list[Case]:
    """Return two conversations per domain; success is by required calls and by the host's final state."""
    return [_case(domain, number, seed, turn_count) for domain in _DOMAINS for number in range(CASES_PER_DOMAIN)]


def _case(domain: str, number: int, seed: int, turn_count: int) -> Case:
    random_source = random.Random(f"token_efficiency {domain} {number} {seed}")
    host, names = _DOMAINS[domain]
    world = open_world(host(random_source))
    pool = [_draw(template, domain, names) for template in read_templates("token_efficiency")[domain]]
    turns = grow_turns(random_source, world, [pool] * turn_count)
    return Case("token_efficiency", domain, number, world, turns)


def _draw(template: list[str], domain: str, names: tuple[str, ...]) -> Draw:
    def draw(random_source: random.Random, _world: World) -> Turn:
        x, y, z = random_source.sample(names, 3)
        first = random_source.choice(CATEGORIES) if domain == "shop" else x
        n, a = random_source.randrange(15, 80), random_source.randrange(1, 15)
        return fill(template, {"x": first, "y": y, "z": z, "t": random_source.choice(TICKERS), "n": n, "a": a})

    return draw
