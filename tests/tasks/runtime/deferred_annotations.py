"""A module whose annotations are text, with definitions to inject."""

from __future__ import annotations

from dataclasses import dataclass

LIMIT = 3
UNUSED = 4


class Item:
    """Stands in an annotation of a field."""


class Part:
    """Stands in a text within an annotation."""


class Result:
    """Stands in annotations of a method alone."""


def default() -> int:
    """Return what a field begins with."""
    return LIMIT


Alias = Item


@dataclass
class Basket:
    """Needs at once what its statement runs, and later the classes of its fields."""

    item: Item
    part: list["Part"] | None = None  # noqa: UP037
    alias: Alias | None = None
    count: int = default() + LIMIT
    odd: "not a name" = 0  # noqa: F722 # type: ignore

    def total(self, more: Result) -> Result:
        """Use what stays on the host."""
        return more if UNUSED else Result()
