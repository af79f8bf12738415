"""What an interpreter is to the agent loop: run a block, tell what happened, keep what the contract says.

A `Runtime` belongs to a worker and opens one `Interpreter` per episode. Both are synchronous: an asyncio caller puts
`run_block` in a thread. Two backends stand behind the protocol, `fork_tree` and `jupyter`.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from tasks.runtime.describe import Injected
    from tasks.runtime.journal import Journal
    from tasks.runtime.objects import Binding

SandboxLevel = Literal["bwrap+seccomp", "landlock+seccomp", "seccomp", "none"]
"""Strongest first."""


Scope = Literal["process", "namespace"]


class Contract(BaseModel):
    """What the runtime promises about bindings (arXiv 2603.01209, section 3)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    """`persistent`, `stateless`, or the name of a third lifetime."""
    version: int = 1
    """Raised when the promise changes."""
    lifetime: str
    """Lifetime policy in force: `episode`, `block`, ..."""
    scope: Scope = "process"
    """What ends with a binding's lifetime: the process, or user names only (an ablation arm)."""
    binds: Literal["nothing", "environment"] = Field(default="nothing", exclude_if=lambda binds: binds == "nothing")
    """What the host binds anew before each block; left out of a dump where it is nothing, so that digests stay."""


CONTRACTS: dict[str, Contract] = {
    "persistent": Contract(name="persistent", lifetime="episode"),
    "stateless": Contract(name="stateless", lifetime="block"),
    "injected": Contract(name="injected", lifetime="block", binds="environment"),
    "injected+persistent": Contract(name="injected+persistent", lifetime="episode", binds="environment"),
}
"""The two contracts of the study, and both with the environment's knowledge as live objects (arXiv 2601.01569)."""


class ToolError(Exception):
    """Base of the errors that a tool may raise on the host and that the agent's block sees.

    The class name is the one the block sees: `ToolRuntimeException` for errors of the environment,
    `ToolInvocationException` for wrong arguments, `ToolCallLimitError` for the per-turn cap.
    """


class ToolRuntimeException(ToolError):  # noqa: N818 - the name the validator knows (arXiv 2603.01209)
    """The environment refused the call."""


class ToolInvocationException(ToolError):  # noqa: N818 - the name the validator knows (arXiv 2603.01209)
    """The arguments do not fit the tool's signature."""


class ToolCallLimitError(ToolError):
    """The per-turn cap is spent."""


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


class BlockError(NamedTuple):
    """The exception that ended a block, or why it was not run at all."""

    kind: Literal["interpreter", "tool", "cap"]
    type: str
    """Class name, e.g. `NameError`, `ToolRuntimeException`, `StepTimeout`, `InterpreterDied`, `PolicyViolation`."""
    message: str
    """Traceback cut to the agent's own frames, and the exception line: the text of the observation."""
    violations: tuple[Violation, ...] = ()
    """For `PolicyViolation`: what is forbidden, and where."""


class BlockResult(NamedTuple):
    """What running one block did."""

    output: str
    """Everything printed, by Python, C code and threads, also of a block that was killed."""
    result: str | None
    """The last expression's value as text; null for none or for None."""
    error: BlockError | None
    active_globals: tuple[str, ...]
    """User names alive for the next block, sorted (no modules, tools, dunder names)."""
    last_step_globals: tuple[str, ...]
    """User names that existed when the block ended, sorted."""
    tool_calls: tuple[ToolCall, ...]
    state_event: Literal["kept", "rolled_back", "lost"]
    state_hash: str | None
    notices: tuple[str, ...]
    """What the model must be told beside the error (threads gone, state rolled back, ...)."""
    seconds: float


class Difference(NamedTuple):
    """An observation that came out otherwise when its block ran again."""

    step: int
    field: str
    """A field of `Observed`, or `tool_calls`."""
    recorded: str
    """As Python would write it; requests as JSON, of those that were replayed one more than was recorded at most."""
    replayed: str


class RuntimeEvent(NamedTuple):
    """A change of the state other than a step; the trace schema has a table for them."""

    step: int
    """Steps executed before it."""
    kind: str
    """`inject`, `retrieve`, `drop`, `snapshot`, `restore`, `branch`, `rolled_back`, `lost`, `save` or `reload`."""
    name: str | None = None
    """Variable or function concerned."""
    detail: dict[str, Any] | None = None


class Snapshot(Protocol):
    """A frozen interpreter state; close it when it is no longer needed."""

    def close(self) -> None:
        """End the frozen process."""
        ...


class Interpreter(Protocol):
    """One episode's interpreter under one contract."""

    contract: Contract

    @property
    def events(self) -> Sequence[RuntimeEvent]:
        """Changes of the state other than steps, in order."""
        ...

    def run_block(self, code: str) -> BlockResult:
        """Run a block; whatever it does is an observation, never an exception here."""
        ...

    def drop_name(self, name: str) -> bool:
        """Remove a user name before the next block; tell whether it was there (fault injection)."""
        ...

    def verify_contract(self) -> bool:
        """Tell by a canary that no user name shows whether bindings live as the contract says.

        Raises:
            StateLostError: The process that holds them has ended, so neither is true.
        """
        ...

    def inject(
        self, name: str, value: Any, *, description: str = "", runs_in: Literal["host", "sandbox"] = "host"
    ) -> None:
        """Bind a variable, type or function in the namespace (arXiv 2601.01569, object injection).

        A function runs on the host, like a tool, or from its source in the sandbox.
        """
        ...

    @property
    def injected(self) -> "Sequence[Injected]":
        """What was bound from outside, with the descriptions for a prompt."""
        ...

    @property
    def bindings(self) -> "tuple[Binding, ...]":
        """What was injected, as it was sent, in the order of `injected`."""
        ...

    def install(self, binding: "Binding", entry: "Injected", runs_in: Literal["host", "sandbox"] = "sandbox") -> None:
        """Bind what another interpreter's `bindings` held, or a source that is no object of this process."""
        ...

    def retrieve(self, name: str) -> Any:
        """Return a user variable as a native object; never by unpickling bytes of the sandbox."""
        ...

    def variables(self) -> dict[str, str]:
        """Return the type's name of every user variable, injected ones included, by the variable's name."""
        ...

    def snapshot(self) -> Snapshot:
        """Freeze the state in memory."""
        ...

    def restore(self, snapshot: Any) -> tuple[str, ...]:
        """Go on from a state that this interpreter's `snapshot` froze; return what the model must be told."""
        ...

    def branch(self) -> "Interpreter":
        """Return a second interpreter that goes on from the present state by itself."""
        ...

    def save(self, path: Path) -> None:
        """Write what brings the state about again, in this worker or in another."""
        ...

    def reload(self, path: Path) -> tuple[Difference, ...]:
        """Bring a saved state about by running its blocks again; return every observation that came out otherwise."""
        ...

    def journal(self) -> "Journal":
        """Return what brings the state about again."""
        ...

    def replay(self, journal: "Journal") -> tuple[Difference, ...]:
        """Run a journal's blocks as `reload` does, and raise what it raises."""
        ...

    def close(self) -> None:
        """End every process and free every file of the episode."""
        ...


class Runtime(Protocol):
    """A worker's source of interpreters."""

    backend: Literal["fork_tree", "jupyter"]
    sandbox_level: SandboxLevel

    def open_interpreter(
        self,
        contract: Contract,
        tools: Mapping[str, Callable[..., Any]],
        *,
        instance_id: str,
        salt: str = "",
        tool_call_cap: int | None = 25,
    ) -> Interpreter:
        """Start an episode's interpreter with host-side tools by name.

        `instance_id` and `salt` seed `random` and NumPy before every block, equally under every contract.
        """
        ...

    def close(self) -> None:
        """End the worker's processes."""
        ...
