"""Result of a block, and its record."""

from typing import Any, Literal, NamedTuple

_FIGURE_TYPES = {"image/png", "image/svg+xml"}


class ToolCall(NamedTuple):
    """A tool call that reached the host, in order."""

    tool: str
    arguments_json: str
    result_json: str | None
    error_type: str | None
    error_message: str | None
    is_caught: bool
    seconds: float


class Violation(NamedTuple):
    """A place in a block that the static policy forbids."""

    rule: Literal["import", "call", "attribute"]
    name: str
    """Root module, function as it was written, or attribute."""
    line: int


BlockErrorKind = Literal["interpreter", "tool", "cap"]
"""Where a block's exception came from."""


class BlockError(NamedTuple):
    """The exception that ended a block, or its refusal."""

    kind: BlockErrorKind
    type: str
    """Class name, e.g. `NameError`, `ToolRuntimeException`, `StepTimeout`, `InterpreterDied`, `PolicyViolation`."""
    message: str
    """Traceback cut to the agent's own frames, and the exception line: the text of the observation."""
    violations: tuple[Violation, ...] = ()
    """For `PolicyViolation`: what is forbidden, and where."""


class Display(NamedTuple):
    """A rich result of a block; the process's own claim."""

    step: int
    data: dict[str, str | bytes]
    """Content by MIME type: `text/plain`, `text/html`, `image/png`, `image/svg+xml`, ..."""

    @property
    def is_figure(self) -> bool:
        """Whether it is a figure, as PNG and SVG."""
        return self.data.keys() >= _FIGURE_TYPES


class BlockResult(NamedTuple):
    """Outcome of one block."""

    output: str = ""
    """Everything printed, by Python, C code and threads, also of a block that was killed."""
    result: str | None = None
    """The last expression's value as text; null without one, and for `None`."""
    error: BlockError | None = None
    active_globals: tuple[str, ...] = ()
    """User names alive for the next block, sorted (no modules, tools, dunder names); the process's own claim."""
    last_step_globals: tuple[str, ...] = ()
    """User names that existed when the block ended, sorted; the process's own claim."""
    tool_calls: tuple[ToolCall, ...] = ()
    state_event: Literal["kept", "rolled_back", "lost"] = "kept"
    state_hash: str | None = None
    """Digest of the values of user names; the process's own claim."""
    notices: tuple[str, ...] = ()
    """Notices for the model beside the error (threads gone, state rolled back, ...)."""
    seconds: float = 0.0
    displays: tuple[Display, ...] = ()
    """What the block has shown by `display`, as its value, or by figures that it left open."""


class Difference(NamedTuple):
    """An observation that came out otherwise when its block ran again."""

    step: int
    field: str
    """A field of `BlockObservation`, `tool_calls`, or after the last step `variable NAME` with digests of its value."""
    recorded: str
    """As Python would write it; requests as JSON, of those that were replayed one more than was recorded at most."""
    replayed: str


class RuntimeEvent(NamedTuple):
    """A change of the state other than a step, for traces."""

    step: int
    """Steps executed before it."""
    kind: str
    """`inject`, `retrieve`, `put`, `get`, `drop`, `snapshot`, `restore`, `branch`, `rolled_back`, `lost`, `save` or
    `reload`."""
    name: str | None = None
    """Variable or function concerned."""
    detail: dict[str, Any] | None = None
