"""Type proficiency: three turns on one variable of a kind, counts as in arXiv 2601.01569, section 4.2."""

import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from carryover.tasks.cave.suites.case import Case, Draw, World, grow_turns
from carryover.tasks.cave.suites.objects import Account, Course, Playlist, Robot, Shelf, Thermostat
from carryover.tasks.cave.suites.templates import WORDS, read_templates, templated

TURN_COUNT = 3


class Kind(NamedTuple):
    """A kind of variable."""

    name: str
    make: Callable[[random.Random], Any]

    @property
    def turns(self) -> tuple[Draw, ...]:
        """What may be asked of it: the entries of `types.toml`."""
        return tuple(map(templated, read_templates("types")[self.name]))


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


def _array(shape: tuple[int, ...]) -> Callable[[random.Random], Any]:
    def make(random_source: random.Random) -> Any:
        import numpy

        size = shape[0] * (shape[1] if len(shape) > 1 else 1)
        return numpy.array([random_source.randrange(1, 100) / 2 for _ in range(size)]).reshape(shape)

    return make


_SIMPLE = (
    Kind("whole number", lambda r: r.randrange(100, 1000)),
    Kind("fraction", lambda r: r.randrange(100, 9999) / 8),
    Kind("text", lambda r: " ".join(_words(r))),
    Kind("list", lambda r: [r.randrange(1, 90) for _ in range(7)]),
    Kind("dictionary", lambda r: {word: r.randrange(1, 90) for word in _words(r)}),
    Kind("set", lambda r: set(_words(r))),
)

_OBJECT = (
    Kind("Thermostat", lambda r: Thermostat(r.randrange(16, 24), "heat")),
    Kind("Account", lambda r: Account(r.choice(WORDS), r.randrange(10_000, 90_000))),
    Kind("Playlist", lambda r: Playlist("mix", _words(r))),
    Kind("Shelf", lambda r: Shelf(r.randrange(60, 200), {"amber": r.randrange(5, 30)})),
    Kind("Robot", lambda r: Robot(r.randrange(9), r.randrange(9), r.randrange(4))),
    Kind("Course", lambda r: Course("maths", {word: r.randrange(30, 100) for word in _words(r)})),
)

_SCIENTIFIC = (
    Kind("array", _array((9,))),
    Kind("matrix", _array((3, 4))),
    Kind("frame", _frame),
)


def type_cases(seed: int) -> list[Case]:
    """Return 36 turns on plain values, 36 on objects and 42 on arrays and frames, three to a case."""
    tiers: dict[str, Sequence[Kind]] = {
        "simple": [kind for kind in _SIMPLE for _ in range(2)],
        "object": [kind for kind in _OBJECT for _ in range(2)],
        "scientific": [kind for kind, count in zip(_SCIENTIFIC, (4, 4, 6), strict=True) for _ in range(count)],
    }
    return [_case(tier, number, kind, seed) for tier, kinds in tiers.items() for number, kind in enumerate(kinds)]


def _case(tier: str, number: int, kind: Kind, seed: int) -> Case:
    random_source = random.Random(f"types {tier} {number} {seed}")
    subject = kind.make(random_source)
    types = (type(subject),) if tier == "object" else ()
    descriptions = {"subject": f"A {kind.name}, to be read and changed.", "answer": "Bind results to this name."}
    variables = {"subject": subject, "answer": None}
    world = World(variables=variables, types=types, descriptions=descriptions, checks_kinds=True)
    return Case("types", tier, number, world, grow_turns(random_source, world, [kind.turns] * TURN_COUNT))
