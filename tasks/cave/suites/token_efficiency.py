"""The token study: three domains of interdependent functions, 48 turns (arXiv 2601.01569, Table 4)."""

import random
from functools import partial
from itertools import product

from carryover.tasks.cave.suites.case import Case, grow_turns
from carryover.tasks.cave.suites.templates import read_draws
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

CASES_PER_DOMAIN = 2
TURN_COUNT = 8
_DOMAINS = {"iot": (Building, ROOMS), "finance": (Brokerage, ACCOUNTS), "shop": (Shop, CUSTOMERS)}


def token_efficiency_cases(seed: int) -> list[Case]:
    """Return two conversations per domain, judged by calls and final state."""
    numbered = product(_DOMAINS, range(CASES_PER_DOMAIN))
    return [_case(domain, number, seed) for domain, number in numbered]


def _case(domain: str, number: int, seed: int) -> Case:
    random_source = random.Random(f"token_efficiency {domain} {number} {seed}")
    host, names = _DOMAINS[domain]
    world = open_world(host(random_source))
    pool = read_draws("token_efficiency", domain, partial(_values, names))
    turns = grow_turns(random_source, world, [pool] * TURN_COUNT)
    return Case("token_efficiency", domain, number, world, turns)


def _values(names: tuple[str, ...], random_source: random.Random) -> dict[str, object]:
    x, y, z = random_source.sample(names, 3)
    first = random_source.choice(CATEGORIES) if names is CUSTOMERS else x
    n = random_source.randrange(15, 80)
    a = random_source.randrange(1, 15)
    return {"x": first, "y": y, "z": z, "t": random_source.choice(TICKERS), "n": n, "a": a}
