"""What a backend does for an interpreter: run a block somewhere, keep or discard that place, bring values in and out.

`EpisodeInterpreter` holds what is equal for every backend; an `Engine` holds what is not.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, Protocol

from tasks.runtime.objects import Binding
from tasks.runtime.transfer import Fetched

Answer = Callable[[str, list[Any], dict[str, Any]], tuple[Any, ...]]
"""From tool, positional and keyword arguments to the reply for the sandbox; may raise `CallInterruptedError`."""


class Block(NamedTuple):
    """A block on its way into the sandbox."""

    step: int
    """Counted from 1 over the episode."""
    seed: str
    """Hexadecimal seed of `random` and NumPy."""
    code: str


class Report(NamedTuple):
    """The sandbox's word on one block."""

    result: str | None
    error_type: str | None
    error_text: str
    call: int | None
    """Which of the block's tool calls raised the error that ended it, counted from 1."""
    names: tuple[str, ...]
    state_hash: str | None
    notices: tuple[str, ...]
    canary: str
    """The word by which its namespace remembers this block; no other block has the same."""


class BlockKilledError(Exception):
    """The block's process ended before the block did."""

    def __init__(self, type_name: str, reason: str) -> None:
        super().__init__(f"{type_name}: {reason}")
        self.type_name = type_name


class CallInterruptedError(Exception):
    """A tool was stopped by hand while it ran: its block is to be interrupted, and then to have a reply."""

    def __init__(self, frame: tuple[Any, ...]) -> None:
        super().__init__(frame)
        self.frame = frame
        """The reply."""


class StateLostError(Exception):
    """There is no process that holds the state any more."""


class ProtocolError(Exception):
    """The sandbox sent what it should not."""


Recovery = Literal["complete", "without_threads", "incomplete", "lost"]
"""What a state that was gone back to is worth: threads do not survive freezing, and libraries that wait for theirs
would hang, so `incomplete` asks for a replay; `lost` says that the backend goes back to nothing."""


class Engine(Protocol):
    """One episode's processes."""

    @property
    def forgets(self) -> bool:
        """Whether the engine itself has let a namespace go: what is forgotten then is no block's doing."""
        ...

    def canary(self) -> str | None:
        """Return by which word the next block's namespace remembers a block; none for a new namespace.

        Raises:
            StateLostError: No process holds the state; so do all that follow.
        """
        ...

    def execute(self, block: Block, answer: Answer) -> Report:
        """Run a block in the namespace that is its turn.

        Raises:
            BlockKilledError: The process ended, or had to be ended.
        """
        ...

    def output(self) -> str:
        """Return what the last block printed, also when it was killed."""
        ...

    def keep_output(self, name: str) -> None:
        """Bind what the last block printed to a name, before the step is finished."""
        ...

    def finish(self, dropped: list[str] | None) -> None:
        """End the step: drop these names (none: all) and make ready for the next block."""
        ...

    def roll_back(self) -> Recovery:
        """Go back to the state before the step that was killed, as far as it is there."""
        ...

    @property
    def installed(self) -> tuple[Binding, ...]:
        """What was installed, in order."""
        ...

    def restart(self, installed: Sequence[Binding]) -> None:
        """Go back to an empty namespace in which this is installed, in place of all that was."""
        ...

    def drop(self, name: str) -> bool:
        """Remove a name from the next block's namespace; tell whether it was there."""
        ...

    def install(self, binding: Binding) -> None:
        """Bind something in the namespace of the next block and of all that come after it.

        Raises:
            InjectionError: The sandbox could not.
        """
        ...

    def fetch(self, name: str) -> Fetched:
        """Return what a variable of the next block's namespace holds.

        Raises:
            RetrievalError: There is none, or it does not travel.
        """
        ...

    def freeze(self) -> Any:
        """Return a handle on a frozen copy of the state; none when this backend can only replay."""
        ...

    def thaw(self, frozen: Any) -> Recovery:
        """Go on from a frozen copy."""
        ...

    def branch(self) -> tuple["Engine", Recovery]:
        """Return a second engine in the same state, as far as a fork takes it along."""
        ...

    def close(self) -> None:
        """End all processes."""
        ...


def parse_report(message: Any) -> Report:
    """Return the report in a message of the sandbox's, which may hold anything.

    Raises:
        ProtocolError: It is none.
    """
    match message:
        case {
            "result": str() | None as result,
            "error": [str(), str()] | None as error,
            "call": int() | None as call,
            "names": list(names),
            "hash": str() | None as state_hash,
            "notices": list(notices),
            "canary": str(canary),
        } if all(type(text) is str for text in (*names, *notices)):
            error_type, error_text = error or (None, "")
            return Report(result, error_type, error_text, call, tuple(names), state_hash, tuple(notices), canary)
    raise ProtocolError(f"not a report: {message!r:.200}")
