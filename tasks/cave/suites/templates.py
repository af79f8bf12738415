"""Turns from templates in `*.toml`: questions and golden programs."""

import random
import tomllib
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from string import Template

from carryover.tasks.cave.suites.case import Draw, Turn, World

WORDS = ("amber", "birch", "coral", "delta", "ember", "fjord", "grove", "heron", "indigo", "juniper", "kelp", "lunar")
Values = Callable[[random.Random], Mapping[str, object]]
"""Draws the values of a template's names."""


def read_draws(suite: str, section: str, values: Values) -> list[Draw]:
    """Return a draw per template: question, golden program, data's source."""
    return [partial(_fill, template, values) for template in _read_templates(suite)[section]]


def _fill(template: list[str], values: Values, random_source: random.Random, _world: World) -> Turn:
    drawn = values(random_source)
    texts = [Template(text).substitute(drawn) for text in template]
    question, golden, *fetch = texts
    return Turn(question, golden, "".join(fetch))


@cache
def _read_templates(suite: str) -> dict[str, list[list[str]]]:
    text = (Path(__file__).parent / f"{suite}.toml").read_text(encoding="utf-8")
    return {name: section["turns"] for name, section in tomllib.loads(text).items()}
