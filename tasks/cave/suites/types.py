"""Type proficiency: three turns per variable (arXiv 2601.01569, section 4.2)."""

import math
import random
from collections.abc import Callable
from itertools import product
from typing import Any

from carryover.tasks.cave.suites.case import Case, World, grow_turns
from carryover.tasks.cave.suites.objects import Account, Course, Playlist, Robot, Shelf, Thermostat
from carryover.tasks.cave.suites.templates import WORDS, read_draws

TURN_COUNT = 3
_REGIONS = ("north", "south", "west")
Make = Callable[[random.Random], Any]
"""Makes a variable of a kind; what may be asked of it are the entries of `types.toml`."""


def _words(random_source: random.Random, count: int = 5) -> list[str]:
    return random_source.sample(WORDS, count)


def _frame(random_source: random.Random) -> Any:
    import pandas

    rows = range(8)
    return pandas.DataFrame(
        {
            "city": [random_source.choice(WORDS[:4]) for _ in rows],
            "units": [random_source.randrange(1, 60) for _ in rows],
            "price": [random_source.randrange(100, 900) / 4 for _ in rows],
        }
    )


def _series(random_source: random.Random) -> Any:
    import pandas

    return pandas.Series({word: random_source.randrange(5, 200) / 2 for word in _words(random_source, 7)})


def _sales(random_source: random.Random) -> Any:
    """Return the amounts of three regions, some with two rows a quarter."""
    import pandas

    quarters = list(product(_REGIONS, ("q1", "q2")))
    rows = quarters + random_source.sample(quarters, 2)
    return pandas.DataFrame(
        {
            "region": [region for region, _ in rows],
            "quarter": [quarter for _, quarter in rows],
            "amount": [random_source.randrange(10, 90) for _ in rows],
        }
    )


def _teams(random_source: random.Random) -> Any:
    import pandas

    managers = random_source.sample(("ana", "bo", "cem", "dee"), 3)
    targets = [random_source.randrange(20, 80) for _ in _REGIONS]
    return pandas.DataFrame({"region": list(_REGIONS), "manager": managers, "target": targets})


def _array(random_source: random.Random, *shape: int) -> Any:
    import numpy

    return numpy.array([random_source.randrange(1, 100) / 2 for _ in range(math.prod(shape))]).reshape(shape)


_SIMPLE: dict[str, Make] = {
    "whole number": lambda r: r.randrange(100, 1000),
    "truth": lambda r: r.random() < 0.5,
    "fraction": lambda r: r.randrange(100, 9999) / 8,
    "text": lambda r: " ".join(_words(r)),
    "list": lambda r: [r.randrange(1, 90) for _ in range(7)],
    "dictionary": lambda r: {word: r.randrange(1, 90) for word in _words(r)},
    "set": lambda r: set(_words(r)),
}

_OBJECT: dict[str, Make] = {
    "Thermostat": lambda r: Thermostat(r.randrange(16, 24), "heat"),
    "Account": lambda r: Account(r.choice(WORDS), r.randrange(10_000, 90_000)),
    "Playlist": lambda r: Playlist("mix", _words(r)),
    "Shelf": lambda r: Shelf(r.randrange(60, 200), {"amber": r.randrange(5, 30)}),
    "Robot": lambda r: Robot(r.randrange(9), r.randrange(9), r.randrange(4)),
    "Course": lambda r: Course("maths", {word: r.randrange(30, 100) for word in _words(r)}),
}

_SCIENTIFIC: dict[str, Make] = {
    "array": lambda r: _array(r, 9),
    "matrix": lambda r: _array(r, 3, 4),
    "frame": _frame,
    "series": _series,
    "tables": _sales,
}
_CASES = {"dictionary": 1, "set": 1, "array": 3, "matrix": 2, "frame": 3, "series": 3, "tables": 3}
"""Cases of a kind where they are not two."""
_BESIDE: dict[str, dict[str, Make]] = {"tables": {"teams": _teams}}
"""Further variables of a kind."""


def type_cases(seed: int) -> list[Case]:
    """Return 36 turns on values, 36 on objects, 42 on arrays."""
    cases = []
    for tier, kinds in {"simple": _SIMPLE, "object": _OBJECT, "scientific": _SCIENTIFIC}.items():
        listed = []
        for kind in kinds:
            listed += [kind] * _CASES.get(kind, 2)
        for number, kind in enumerate(listed):
            cases.append(_case(tier, number, kind, kinds[kind], seed))
    return cases


def _case(tier: str, number: int, kind: str, make: Make, seed: int) -> Case:
    random_source = random.Random(f"types {tier} {number} {seed}")
    subject = make(random_source)
    beside = {name: make_other(random_source) for name, make_other in _BESIDE.get(kind, {}).items()}
    world = World(
        variables={"subject": subject, **beside, "answer": None},
        types=(type(subject),) if tier == "object" else (),
        descriptions={"subject": f"A {kind}, to be read and changed.", "answer": "Bind results to this name."},
        checks_kinds=True,
    )
    pool = read_draws("types", kind, _values)
    return Case("types", tier, number, world, grow_turns(random_source, world, [pool] * TURN_COUNT))


def _values(random_source: random.Random) -> dict[str, object]:
    word, other = _words(random_source, 2)
    a, b = random_source.sample(range(2, 10), 2)
    return {"a": a, "b": b, "n": random_source.randrange(20, 90), "word": word, "other": other}
