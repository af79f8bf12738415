"""Protocol of a runtime to probe, with its optional events and inputs."""

from collections.abc import Mapping
from typing import Any, Literal, Protocol, get_args, runtime_checkable

OfferedEvent = Literal["time_out", "reset", "resume", "kill"]
"""Methods without arguments: each lets the event happen and returns when the runtime takes blocks again.

They happen in this order: a resume that replays a session replays what came after the reset alone.
"""


class ProbedRuntime(Protocol):
    """An interpreter that runs blocks of Python, one after the other."""

    def open(self) -> None:
        """Start an interpreter."""

    def run(self, code: str) -> str:
        """Run a block; return its output and an error's text."""
        ...

    def close(self) -> None:
        """End the interpreter, also where `open` raised halfway."""


@runtime_checkable
class InjectingRuntime(ProbedRuntime, Protocol):
    """A runtime that gives values of its host to blocks."""

    def inject(self, values: Mapping[str, Any]) -> None:
        """Give values to all later blocks, by name."""

    def injected(self) -> Mapping[str, Any]:
        """Return these values as the host holds them."""
        ...


@runtime_checkable
class HidingRuntime(ProbedRuntime, Protocol):
    """A runtime whose host keeps values from blocks."""

    def hide(self, value: str) -> None:
        """Keep a value where the host's tools would."""


@runtime_checkable
class VersionedRuntime(ProbedRuntime, Protocol):
    """A runtime that knows its version."""

    def version(self) -> str:
        """Return packages and versions."""
        ...


@runtime_checkable
class SelectiveRuntime(ProbedRuntime, Protocol):
    """A runtime that knows its optional methods only once it is open."""

    def offers(self) -> frozenset[str]:
        """Return the optional methods that work."""
        ...


def offered_events(runtime: ProbedRuntime) -> list[OfferedEvent]:
    """Return the events that a runtime can let happen, in order."""
    return [event for event in get_args(OfferedEvent) if offers(runtime, event)]


def offers(runtime: ProbedRuntime, method: str) -> bool:
    """Tell whether a runtime offers an optional method."""
    if isinstance(runtime, SelectiveRuntime):
        return method in runtime.offers()
    return callable(getattr(runtime, method, None))
