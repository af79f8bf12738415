"""How long bindings live: a policy object per contract, and the only place where contracts differ."""

from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from carryover.tasks.runtime.protocol import Contract


class Bound(NamedTuple):
    """How a name came to its present value."""

    step: int
    is_definition: bool
    """Whether by `def` or `class`."""


class Lifetime(Protocol):
    """What a contract keeps from block to block."""

    @property
    def runs_in(self) -> Literal["live", "fresh"]:
        """Where a block runs: in the process that lives through the episode, or in a new one."""
        ...

    @property
    def keeps(self) -> Literal["all", "some", "nothing"]:
        """What of a namespace is there in the next block; a block's code is looked into only to keep some of it."""
        ...

    def survives(self, bound: Bound, step: int) -> bool:
        """Tell whether a name that is bound so outlives a step; `bound` is exact where some names are kept."""
        ...


@dataclass(frozen=True)
class EpisodeLifetime:
    """Persistent: every binding lives until the episode ends."""

    runs_in: Literal["live", "fresh"] = "live"
    keeps: Literal["all", "some", "nothing"] = "all"

    def survives(self, bound: Bound, step: int) -> bool:
        """Keep everything."""
        return True


@dataclass(frozen=True)
class BlockLifetime:
    """Stateless: every binding ends with its block; with the process, or in the same one (an ablation arm)."""

    runs_in: Literal["live", "fresh"] = "fresh"
    keeps: Literal["all", "some", "nothing"] = "nothing"

    def survives(self, bound: Bound, step: int) -> bool:
        """Keep nothing."""
        return False


@dataclass(frozen=True)
class RecentLifetime:
    """In between: a binding outlives its block and the following ones, `step_count` steps in all."""

    step_count: int
    runs_in: Literal["live", "fresh"] = "live"
    keeps: Literal["all", "some", "nothing"] = "some"

    def survives(self, bound: Bound, step: int) -> bool:
        """Keep what was bound in the last steps."""
        return step - bound.step < self.step_count


def lifetime_of(contract: Contract) -> Lifetime:
    """Return the policy behind a contract's words.

    Raises:
        ValueError: No policy has that name.
    """
    word, _, count = contract.lifetime.partition(":")
    match word:
        case "episode" if not count:
            return EpisodeLifetime()
        case "block" if not count:
            return BlockLifetime(runs_in="fresh" if contract.scope == "process" else "live")
        case "recent" if count.isdecimal() and int(count) > 0:
            return RecentLifetime(step_count=int(count))
    raise ValueError(f"unknown lifetime {contract.lifetime!r}; choose from episode, block, recent:K")
