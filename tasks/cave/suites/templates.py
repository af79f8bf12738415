"""Turns drawn from templates: `$a` and `$b` are small numbers, `$n` a larger one, `$word` and `$other` words."""

import random
from string import Template

from carryover.tasks.cave.suites.case import Draw, Turn, World

WORDS = ("amber", "birch", "coral", "delta", "ember", "fjord", "grove", "heron", "indigo", "juniper", "kelp", "lunar")


def fields(random_source: random.Random) -> dict[str, object]:
    """Return values for a template's fields."""
    word, other = random_source.sample(WORDS, 2)
    a, b = random_source.sample(range(2, 10), 2)
    return {"a": a, "b": b, "n": random_source.randrange(20, 90), "word": word, "other": other}


def templated(question: str, golden: str) -> Draw:
    """Return a draw that fills a question and its golden program with the same values."""

    def draw(random_source: random.Random, _world: World) -> Turn:
        values = fields(random_source)
        return Turn(Template(question).substitute(values), Template(golden).substitute(values))

    return draw
