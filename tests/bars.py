"""A bar that remembers what it was told, in place of one that is shown."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from carryover.tasks.services.progress import Advance


class ShownBar(NamedTuple):
    """A bar that was opened and closed."""

    label: str
    unit: str
    total: int
    advances: tuple[int, ...]
    """Units done by every call."""

    @property
    def done(self) -> int:
        """Units done by all of them."""
        return sum(self.advances)


class RecordedBars:
    """Opens bars as `progress_bar` does, and remembers them."""

    def __init__(self) -> None:
        self.shown: list[ShownBar] = []

    @contextmanager
    def open(self, label: str, total: int, unit: str) -> Iterator[Advance]:
        """Remember a bar once it is closed; one of nothing is none."""
        advances: list[int] = []
        yield lambda count, detail="": advances.append(int(count))
        if total:
            self.shown.append(ShownBar(label, unit, total, tuple(advances)))

    def named(self, label: str) -> ShownBar:
        """Return the bar of a label, which was opened once."""
        (bar,) = (bar for bar in self.shown if bar.label == label)
        return bar
