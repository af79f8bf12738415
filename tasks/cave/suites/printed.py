"""Conversations that the paper prints, as cases.

arXiv 2601.01569, figures 6 to 12 and 14, in our own words.
"""

import tomllib
from pathlib import Path
from typing import Any

from carryover.tasks.cave.suites.case import Case, Turn, World
from carryover.tasks.cave.suites.devices import DEVICES
from carryover.tasks.cave.suites.objects import Cart, Person, Stack

_TYPES = {kind.__name__: kind for kind in (*DEVICES, Cart, Person, Stack)}


def printed_cases(_seed: int) -> list[Case]:
    """Return a case per conversation; its tier is the figure's name."""
    text = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    return [_case(name, table) for name, table in tomllib.loads(text).items()]


def _case(name: str, table: dict[str, Any]) -> Case:
    bound: dict[str, Any] = dict(_TYPES)
    exec(compile(table["setup"], f"<{name}>", "exec"), bound)
    world = World(
        variables={variable: bound[variable] for variable in table["variables"]},
        types=tuple(_TYPES[kind] for kind in table.get("types", ())),
        checks_kinds=True,
    )
    turns = tuple(Turn(question, golden) for question, golden in table["turns"])
    return Case("printed", name, 0, world, turns, source="arXiv 2601.01569")
