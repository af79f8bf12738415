"""Turns drawn from templates, which lie in `*.toml` beside this file: a question, and its golden program."""

import random
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from string import Template

from carryover.tasks.cave.suites.case import Draw, Turn, World

WORDS = ("amber", "birch", "coral", "delta", "ember", "fjord", "grove", "heron", "indigo", "juniper", "kelp", "lunar")


@cache
def read_templates(suite: str) -> dict[str, list[list[str]]]:
    """Return the templates of a suite by section."""
    text = (Path(__file__).parent / f"{suite}.toml").read_text(encoding="utf-8")
    return {name: section["turns"] for name, section in tomllib.loads(text).items()}


def fill(template: list[str], values: Mapping[str, object]) -> Turn:
    """Return the turn of a template: question, golden program, and how data are fetched, where it says."""
    return Turn(*(Template(text).substitute(values) for text in template))


def templated(template: list[str]) -> Draw:
    """Return a draw: `$a` and `$b` are small numbers, `$n` a larger one, `$word` and `$other` words."""

    def draw(random_source: random.Random, _world: World) -> Turn:
        word, other = random_source.sample(WORDS, 2)
        a, b = random_source.sample(range(2, 10), 2)
        values = {"a": a, "b": b, "n": random_source.randrange(20, 90), "word": word, "other": other}
        return fill(template, values)

    return draw
