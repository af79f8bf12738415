"""Counts of what was read and what was not, with the reasons."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from carryover.tasks.readers.trace import Trace

_SHOWN_TOOLS = 5


@dataclass
class Tally:
    """Counts of a reading: traces, blocks, and what was left out."""

    layouts: Counter[str] = field(default_factory=Counter)
    """Traces read, by layout."""
    companions: Counter[str] = field(default_factory=Counter)
    """Records that belong to traces and hold none, by layout."""
    unread: Counter[str] = field(default_factory=Counter)
    """Files and records that were not read, by reason."""
    block_count: int = 0
    """Blocks that were read."""
    unread_code: Counter[str] = field(default_factory=Counter)
    """Blocks and calls of an interpreter that were not read, by reason."""
    other_calls: Counter[str] = field(default_factory=Counter)
    """Calls of tools that run no code, by name."""
    not_run_count: int = 0
    """Blocks of texts that the agents' frameworks do not run."""
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

    def count(self, trace: Trace) -> None:
        """Count a trace that was read, with its blocks and calls."""
        self.layouts[trace.layout] += 1
        for reply in trace.replies:
            self.block_count += len(reply.blocks)
            self.unread_code.update(reply.unread)
            self.other_calls.update(reply.other_calls)
            self.not_run_count += reply.not_run_count

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
        """Return a sentence per reason for unread records, frequent first."""
        files = [
            f"{count} unread: {reason} (first: {self.first_places[reason]})"
            for reason, count in self.unread.most_common()
        ]
        return [*files, *(f"{count} unread: {reason}" for reason, count in self.unread_code.most_common())]

    def read_sentence(self) -> str:
        """Say what was read, and what beside it ran no code."""
        layouts = ", ".join(f"{layout} ({count})" for layout, count in self.layouts.most_common() if count)
        read = f"read {self.trace_count} episodes and {self.block_count} blocks: {layouts}"
        return "; ".join([read, *self.passed_over()])

    def passed_over(self) -> list[str]:
        """Return a sentence per kind of content that is no code of an episode."""
        passed = []
        if self.companions:
            passed.append(f"{self.companions.total()} records beside traces that hold none")
        if self.not_run_count:
            passed.append(f"{self.not_run_count} blocks of texts that these agents' frameworks do not run")
        if self.other_calls:
            shown = ", ".join(f"{name} ({count})" for name, count in self.other_calls.most_common(_SHOWN_TOOLS))
            passed.append(f"{self.other_calls.total()} calls of tools that run no code: {shown}")
        return passed
