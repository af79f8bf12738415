"""Prompts of the knapsack, and the values that fill its goal."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from carryover.tasks.knapsack.instance import Instance

_PROMPTS = Path(__file__).parent / "prompts"


@cache
def knapsack_prompts(prompt_set: str) -> Mapping[str, str]:
    """Return goal, tools, and the texts of contracts with injection, by name."""
    files = (_PROMPTS / prompt_set).glob("*.md")
    return {file.stem: file.read_text(encoding="utf-8").strip() for file in files}


def goal_values(instance: Instance) -> Mapping[str, object]:
    """Return capacity, budget and the classes of an instance."""
    return {
        "capacity": instance.capacity,
        "budget": instance.inspection_budget,
        "classes": ", ".join(instance.classes),
    }
