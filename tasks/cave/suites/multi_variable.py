"""Many variables at once, in five tiers of 5 to 25."""

import random
from collections.abc import Sequence
from itertools import product
from typing import Any

from carryover.tasks.cave.suites.case import Case, Draw, Turn, World, grow_turns
from carryover.tasks.cave.suites.templates import WORDS

TIERS = (5, 10, 15, 20, 25)
CASES_PER_TIER = 5
TURN_COUNT = 3
_NUMBERS = ("stock", "limit")
_THINGS = (*_NUMBERS, "share", "open", "label", "flags", "scores")
NAMES = tuple(f"{owner}_{thing}" for owner, thing in product(WORDS, _THINGS))
"""Every name that a variable may have."""


def multi_variable_cases(seed: int, turn_count: int = TURN_COUNT, tiers: Sequence[int] = TIERS) -> list[Case]:
    """Return 15 turns per tier, each on at least half of the variables."""
    numbered = product(tiers, range(CASES_PER_TIER))
    return [_case(count, number, seed, turn_count) for count, number in numbered]


def _case(count: int, number: int, seed: int, turn_count: int) -> Case:
    random_source = random.Random(f"multi_variable {count} {number} {seed}")
    owners = random_source.sample(WORDS, -(-count // len(_THINGS)))
    names = _names(random_source, owners, count)
    world = World(variables={name: _value(name, random_source) for name in names})
    pools: Sequence[Sequence[Draw]] = [[_draw] for _ in range(turn_count)]
    return Case("multi_variable", f"{count:02d}", number, world, grow_turns(random_source, world, pools))


def _names(random_source: random.Random, owners: Sequence[str], count: int) -> list[str]:
    """Return so many names of things.

    One of every thing if they fit, else two whole numbers and others.
    """
    things = _THINGS if count >= len(_THINGS) else _NUMBERS
    needed = {f"{owners[0]}_{thing}" for thing in things}
    every = [f"{owner}_{thing}" for owner, thing in product(owners, _THINGS)]
    others = [name for name in every if name not in needed]
    chosen = needed | set(random_source.sample(others, count - len(needed)))
    return [name for name in every if name in chosen]


def _value(name: str, random_source: random.Random) -> Any:
    match name.rpartition("_")[2]:
        case "stock" | "limit":
            return random_source.randrange(10, 500)
        case "share":
            return random_source.randrange(1, 800) / 8
        case "open":
            return random_source.random() < 0.5
        case "label":
            return random_source.choice(WORDS)
        case "flags":
            return {word: random_source.random() < 0.5 for word in random_source.sample(WORDS, 3)}
    return [random_source.randrange(1, 100) for _ in range(4)]


def _draw(random_source: random.Random, world: World) -> Turn:
    names = list(world.variables)
    numbers = [name for name in names if name.rpartition("_")[2] in _NUMBERS]
    parts = []
    for name in random_source.sample(names, -(-len(names) // 2)):
        by = random_source.randrange(2, 40)
        source = random_source.choice([other for other in numbers if other != name])
        parts.append(_change(name, source, by))
    question = "In this order: " + "; ".join(request for request, _ in parts) + "."
    return Turn(question, "\n".join(code for _, code in parts))


def _change(name: str, source: str, by: int) -> tuple[str, str]:
    """Return a request to change a variable by another, and its code."""
    match name.rpartition("_")[2]:
        case "stock" | "limit":
            return f"set `{name}` to `{source}` plus {by}", f"{name} = {source} + {by}"
        case "share":
            return f"set `{name}` to `{source}` divided by {by}", f"{name} = {source} / {by}"
        case "open":
            return f"set `{name}` to whether `{source}` is above {by}0", f"{name} = {source} > {by}0"
        case "label":
            return f"append a hyphen and `{source}` to `{name}`", f"{name} += f'-{{{source}}}'"
        case "flags":
            request = f"turn every entry of `{name}` around and add the entry k{by}, which is true"
            return request, f"{name} = {{k: not v for k, v in {name}.items()}} | {{'k{by}': True}}"
    request = f"append the sum of `{name}` and `{source}` to `{name}`"
    return request, f"{name}.append(sum({name}) + {source})"
