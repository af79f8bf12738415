"""Protocol of a runtime that can be probed."""

from typing import Protocol, runtime_checkable


class ProbedRuntime(Protocol):
    """An interpreter that runs blocks of Python, one after the other."""

    def open(self) -> None:
        """Start an interpreter."""

    def run(self, code: str) -> str:
        """Run a block and return what its caller sees: output, and the text of an error."""
        ...

    def close(self) -> None:
        """End the interpreter."""


@runtime_checkable
class ResettableRuntime(ProbedRuntime, Protocol):
    """A runtime that can forget its state."""

    def reset(self) -> None:
        """Return to the state that `open` leaves."""
