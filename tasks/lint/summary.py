"""Findings about a data set, counted while traces stream by."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

from carryover.tasks.lint.against import CHANNELS, STATELESS, Losses, failing_steps, fails_without
from carryover.tasks.lint.lint import Idiom, TraceLint


@dataclass
class LintSummary:
    """Counts over the traces of a data set."""

    losses: Losses = STATELESS
    """What the runtime in question loses."""
    trace_count: int = 0
    failing_count: int = 0
    """Traces that would fail where these channels are lost."""
    unjudged_count: int = 0
    """Traces that could not be judged."""
    without_code_count: int = 0
    block_count: int = 0
    first_takes: Counter[tuple[int, str]] = field(default_factory=Counter)
    """First block that needs something of an earlier one, or of none, and what it needs, over failing traces."""
    channels: Counter[str] = field(default_factory=Counter)
    """Traces that carry state in each channel."""
    losing: Counter[str] = field(default_factory=Counter)
    """Failing traces by the channel that the runtime loses."""
    runtimes: Counter[str] = field(default_factory=Counter)
    """Runtimes that the outcomes show."""
    observed_read_count: int = 0
    failed_read_count: int = 0
    error_count: int = 0
    token_count: int = 0
    restated_token_count: int = 0
    contracts: dict[str | None, Counter[str]] = field(default_factory=dict)
    """Sums by declared contract."""

    def follow(self, found: Iterable[TraceLint]) -> Iterator[TraceLint]:
        """Yield the findings on, counting them."""
        for lint in found:
            self.add(lint)
            yield lint

    def add(self, lint: TraceLint) -> None:
        """Count one trace."""
        self.trace_count += 1
        self.block_count += lint.block_count
        self.unjudged_count += lint.idiom == "unjudged"
        self.without_code_count += lint.idiom == "no_code"
        if fails_without(lint, self.losses):
            self._add_failing(lint)
        self.channels.update(channel for channel, is_carried in CHANNELS.items() if is_carried(lint))
        if lint.runtime:
            self.runtimes[lint.runtime] += 1
        self.observed_read_count += lint.observed_read_count
        self.failed_read_count += lint.failed_read_count
        self.error_count += lint.error_count
        self.token_count += lint.token_count
        self.restated_token_count += lint.restated_token_count
        self.contracts.setdefault(lint.declared_contract, Counter()).update(_sums(lint))

    def _add_failing(self, lint: TraceLint) -> None:
        self.failing_count += 1
        steps = failing_steps(lint, self.losses)
        self.losing.update({step.take.channel for step in steps})
        needed = [(step.take.block, step.take.what) for step in steps[:1]]
        if lint.first_early_block is not None:
            needed.append((lint.first_early_block, lint.early_names[0]))
        self.first_takes[min(needed)] += 1

    def first_blocks(self) -> Counter[int]:
        """Return the failing traces by their first block."""
        total: Counter[int] = Counter()
        for (block, _), count in self.first_takes.items():
            total[block] += count
        return total

    def first_names(self, block: int | None = None) -> Counter[str]:
        """Return the failing traces by what they miss first, of one block or of all."""
        total: Counter[str] = Counter()
        for (first, name), count in self.first_takes.items():
            if block in (None, first):
                total[name] += count
        return total

    def sentence(self) -> str:
        """Return how many episodes fail in a runtime, and where."""
        failing = "episodes fail"
        if self.trace_count == 1:
            failing = "episode fails"
        sentence = f"{self.failing_count} of {self.trace_count} {failing} in a {self.losses.runtime} runtime"
        if self.failing_count:
            sentence += f"; first at {self._first_need()}"
        if self.losing and self.losses.block != STATELESS.block:
            counted = ", ".join(f"{channel} ({count})" for channel, count in self.losing.most_common())
            sentence += f"; by {counted}"
        if self.losses.unknown:
            sentence += f"; the probe could not tell {', '.join(sorted(self.losses.unknown))}"
        if self.unjudged_count:
            sentence += f"; {self.unjudged_count} could not be judged"
        if self.observed_read_count:
            played = f"{self.failed_read_count} of {self.observed_read_count} reads of earlier names failed"
            sentence += f"; as they were played, {played}"
        return sentence

    def _first_need(self) -> str:
        """Return the earliest failing block, and what most traces need there."""
        earliest = min(self.first_blocks())
        ((name, count),) = self.first_names(earliest).most_common(1)
        often = ""
        if self.failing_count > 1:
            often = _counted(count)
        return f"block {earliest}, {_as_name(name)}{often}"

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per declared contract, null last.

        Shares of traces are in [0, 1], rates per block over all blocks, and `restated_share` is of all tokens.
        """
        declared = sorted(contract for contract in self.contracts if contract is not None)
        order = [*declared, *([None] if None in self.contracts else [])]
        return [{"declared_contract": contract, **_rates(self.contracts[contract])} for contract in order]


def _counted(episode_count: int) -> str:
    if episode_count == 1:
        return " (1 episode)"
    return f" ({episode_count} episodes)"


def _as_name(taken: str) -> str:
    if taken.isidentifier():
        return f"name `{taken}`"
    return taken


def _sums(lint: TraceLint) -> Mapping[str, int]:
    return {
        "traces": 1,
        lint.idiom: 1,
        "failing": fails_without(lint, STATELESS),
        "blocks": lint.block_count,
        "unjudged_blocks": lint.unjudged_count,
        "unread": lint.unread_count,
        "contradicting": lint.contradiction is not None,
        "early": lint.early_read_count > 0,
        "reimports": lint.reimport_count,
        "redefinitions": lint.redefinition_count,
        "tokens": lint.token_count,
        "restated": lint.restated_token_count,
        "observed": lint.observed_read_count,
        "failed": lint.failed_read_count,
        "errors": lint.error_count,
    }


def _rates(sums: Counter[str]) -> dict[str, Any]:
    traces = sums["traces"]
    blocks = max(sums["blocks"], 1)
    return {
        "trace_count": traces,
        **{f"{idiom}_share": sums[idiom] / traces for idiom in get_args(Idiom)},
        "failing_stateless_share": sums["failing"] / traces,
        "unjudged_block_count": sums["unjudged_blocks"],
        "unread_call_count": sums["unread"],
        "contradicting_share": sums["contradicting"] / traces,
        "early_read_share": sums["early"] / traces,
        "reimports_per_block": sums["reimports"] / blocks,
        "redefinitions_per_block": sums["redefinitions"] / blocks,
        "restated_share": sums["restated"] / max(sums["tokens"], 1),
        "observed_read_count": sums["observed"],
        "failed_read_count": sums["failed"],
        "error_count": sums["errors"],
    }
