"""Counts of what was read and what was not, with the reasons."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Tally:
    """What a reading met."""

    layouts: Counter[str] = field(default_factory=Counter)
    """Traces read, by layout."""
    companions: Counter[str] = field(default_factory=Counter)
    """Records that belong to traces and hold none, by layout."""
    unread: Counter[str] = field(default_factory=Counter)
    """Files and records that were not read, by reason."""
    first_places: dict[str, str] = field(default_factory=dict)
    """Where each reason was met first."""
    byte_count: int = 0
    """Bytes of files that were gone through."""
    show_bytes: Callable[[int], object] | None = None
    """Told of further bytes, for a progress bar."""

    @property
    def trace_count(self) -> int:
        """Traces that were read."""
        return self.layouts.total()

    def skip(self, reason: str, place: str) -> None:
        """Count what was not read."""
        self.unread[reason] += 1
        self.first_places.setdefault(reason, place)

    def pass_bytes(self, count: int) -> None:
        """Note further bytes that were gone through."""
        self.byte_count += count
        if self.show_bytes is not None and count > 0:
            self.show_bytes(count)

    def sentences(self) -> list[str]:
        """Say what was not read: one sentence per reason, the most frequent first."""
        return [
            f"{count} unread: {reason} (first: {self.first_places[reason]})"
            for reason, count in self.unread.most_common()
        ]
