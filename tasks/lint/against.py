"""Traces that fail in a runtime that loses channels of state."""

from collections.abc import Callable

from carryover.tasks.lint.lint import TraceLint
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
RUNTIMES = {
    "stateless": ALL_CHANNELS,
    "fresh-process": ALL_CHANNELS - {"files", "packages"},
    "persistent": frozenset[str](),
}
"""Channels that a kind of runtime loses: a fresh process keeps the file system, a stateless sandbox keeps nothing."""


def lost_channels(runtime: str) -> frozenset[str]:
    """Return the channels that a runtime loses, or raise `UserError`."""
    if runtime not in RUNTIMES:
        raise UserError(f"unknown runtime {runtime!r}; choose from {', '.join(RUNTIMES)}")
    return RUNTIMES[runtime]


def fails_without(lint: TraceLint, lost: frozenset[str]) -> bool:
    """Tell whether a trace would fail without these channels.

    One that reads unbound names fails anywhere.
    """
    return bool(lint.early_names) or any(CHANNELS[channel](lint) for channel in lost)
