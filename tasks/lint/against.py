"""Traces that fail in a runtime that loses channels of state."""

from collections.abc import Callable
from typing import Literal, NamedTuple

from carryover.tasks.lint.lint import Take, TraceLint
from carryover.tasks.services.errors import UserError

CHANNELS: dict[str, Callable[[TraceLint], bool]] = {
    "names": lambda lint: bool(lint.carried_names),
    "files": lambda lint: bool(lint.carried_files),
    "environment": lambda lint: bool(lint.carried_environment),
    "directory": lambda lint: lint.carried_directory,
    "packages": lambda lint: bool(lint.carried_packages),
    "processes": lambda lint: lint.carried_processes,
    "figures": lambda lint: lint.carried_figures,
}
"""Channels of state, each with whether a trace carries state in it."""
ALL_CHANNELS = frozenset(CHANNELS)


class Losses(NamedTuple):
    """State that a runtime loses."""

    runtime: str
    block: frozenset[str]
    """Channels that it loses between blocks."""
    error: frozenset[str] = frozenset()
    """Channels that it loses when a block raises."""
    failed_block: frozenset[str] = frozenset()
    """Channels of which it drops what a block left that raised."""
    unknown: frozenset[str] = frozenset()
    """Channels of which that is not known."""


STATELESS = Losses("stateless", ALL_CHANNELS)
RUNTIMES = {
    "stateless": STATELESS,
    "fresh-process": Losses("fresh-process", ALL_CHANNELS - {"files", "packages"}),
    "persistent": Losses("persistent", frozenset()),
}
"""Kinds of runtime: a fresh process keeps the file system, a stateless sandbox keeps nothing."""


Cause = Literal["block", "error", "failed_block"]
"""Event by which a runtime loses what a later block takes."""
_CAUSES: dict[Cause, str] = {
    "block": "after a block",
    "error": "after an error",
    "failed_block": "with the block that raised",
}


class FailingStep(NamedTuple):
    """A block that takes what a runtime has lost."""

    take: Take
    cause: Cause
    """What lost it: the end of a block, a block that raised, or the end of the raising block that left it."""

    def __str__(self) -> str:
        """Return the step as `block 2: df (names, lost after a block)`."""
        return f"{self.take} ({self.take.channel}, lost {_CAUSES[self.cause]})"


def losses_of(runtime: str) -> Losses:
    """Return what a kind of runtime loses, or raise `UserError`."""
    if runtime not in RUNTIMES:
        raise UserError(f"unknown runtime {runtime!r}; choose from {', '.join(RUNTIMES)}")
    return RUNTIMES[runtime]


def fails_without(lint: TraceLint, losses: Losses) -> bool:
    """Tell whether a trace would fail in a runtime.

    One that reads unbound names fails anywhere.
    """
    return bool(lint.early_names) or any(_cause(take, losses) for take in lint.takes)


def failing_steps(lint: TraceLint, losses: Losses) -> list[FailingStep]:
    """Return the blocks that take what a runtime has lost."""
    found = []
    for take in lint.takes:
        cause = _cause(take, losses)
        if cause is not None:
            found.append(FailingStep(take, cause))
    return found


def _cause(take: Take, losses: Losses) -> Cause | None:
    if take.channel in losses.block:
        return "block"
    if take.is_after_error and take.channel in losses.error:
        return "error"
    if take.is_of_failed_block and take.channel in losses.failed_block:
        return "failed_block"
    return None
