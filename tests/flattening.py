"""One list of several."""

from collections.abc import Iterable
from itertools import chain
from typing import TypeVar

T = TypeVar("T")


def flat(groups: Iterable[Iterable[T]]) -> list[T]:
    """Return the members of all groups, in order."""
    return list(chain.from_iterable(groups))
