"""The runtime's vocabulary: contracts, and what running a block returns."""

from typing import Any, Literal, NamedTuple

from pydantic import Field

from carryover.tasks.running.contract_name import ContractName
from carryover.tasks.running.frozen_model import FrozenModel
from carryover.tasks.runtime.inside.tools import (  # noqa: F401 - part of the vocabulary
    ToolCallLimitError,
    ToolError,
    ToolInvocationException,
    ToolRuntimeException,
)

SandboxLevel = Literal["bwrap+seccomp", "landlock+seccomp", "seccomp", "none"]
"""Strongest first."""

Scope = Literal["process", "namespace"]


class Contract(FrozenModel):
    """What the runtime promises about bindings (arXiv 2603.01209, section 3)."""

    name: str
    """`persistent`, `stateless`, or the name of a third lifetime."""
    version: int = 1
    """Raised when the promise changes."""
    lifetime: str
    """Lifetime policy in force: `episode`, `block`, ..."""
    scope: Scope = "process"
    """What ends with a binding's lifetime: the process, or user names only (an ablation arm)."""
    binds: Literal["nothing", "environment"] = Field(default="nothing", exclude_if=lambda binds: binds == "nothing")
    """What the host binds anew before each block; `nothing` is excluded from the dump, so that digests stay stable."""


class UnknownContractError(KeyError):
    """No contract has that name."""

    def __str__(self) -> str:
        return self.args[0]


class _Contracts(dict[str, Contract]):
    def __missing__(self, name: str) -> Contract:
        raise UnknownContractError(f"unknown contract {name!r}; choose from {', '.join(self)}")


CONTRACTS: dict[str, Contract] = _Contracts(
    {
        ContractName.PERSISTENT: Contract(name="persistent", lifetime="episode"),
        ContractName.STATELESS: Contract(name="stateless", lifetime="block"),
        ContractName.INJECTED: Contract(name="injected", lifetime="block", binds="environment"),
        ContractName.INJECTED_PERSISTENT: Contract(name="injected+persistent", lifetime="episode", binds="environment"),
    }
)
"""The two contracts of the study, and both with the environment's knowledge as live objects (arXiv 2601.01569)."""


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
    """What the model must be told beside the error (threads gone, state rolled back, ...)."""
    seconds: float = 0.0


class Difference(NamedTuple):
    """An observation that came out otherwise when its block ran again."""

    step: int
    field: str
    """A field of `Observed`, `tool_calls`, or after the last step `variable NAME` with digests of its value."""
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
