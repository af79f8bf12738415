"""Settings of a worker's runtime."""

from collections.abc import Iterable
from typing import Literal

from pydantic import Field

from carryover.tasks.runtime.contract import Contract
from carryover.tasks.runtime.policy import StaticPolicy
from carryover.tasks.runtime.shaping import Shaping, WholeOutput
from carryover.tasks.services.frozen_model import FrozenModel
from carryover.tasks.traces.vocabulary import Backend

_MIB = 1 << 20
_SCRATCH_BYTES = 64 * _MIB

SandboxLevel = Literal["bwrap+seccomp", "landlock+seccomp", "seccomp", "none"]
"""Strongest first."""


class RuntimeSpec(FrozenModel):
    """Backend, walls and bounds of a worker's interpreters; equal under every contract."""

    backend: Backend = "fork_tree"
    """Backend that runs the blocks: forks of an interpreter, or a Jupyter kernel."""
    sandbox: SandboxLevel | None = None
    """Sandbox level; null for the best that the machine offers."""
    require_sandbox: SandboxLevel = "none"
    """Lowest level at which the runtime agrees to run."""
    block_timeout_seconds: float = Field(default=20.0, gt=0)
    """A block is interrupted after this time."""
    interrupt_grace_seconds: float = Field(default=0.5, gt=0)
    """An interrupted block that has not ended by then is killed."""
    memory_limit_bytes: int = Field(default=4096 * _MIB, gt=0)
    """Address space of one process; reservations of Arrow, NumPy and thread stacks count."""
    episode_memory_limit_bytes: int = Field(default=2048 * _MIB, gt=0)
    """Resident memory of all processes of an episode; a block that exceeds it is killed."""
    process_limit: int = Field(default=64, gt=3)
    """Processes and threads of an episode, its frozen copies included."""
    output_limit_bytes: int = Field(default=_MIB, gt=0)
    """Bytes that a block may print before its writes fail."""
    scratch_limit_bytes: int | None = Field(default=None, ge=0, exclude_if=lambda limit: limit is None)
    """Size of an episode's scratch folder; 0 for none. Null: 64 MiB in `session` and `Agent`, else none."""
    object_limit_bytes: int = Field(default=256 * _MIB, gt=0)
    """Largest object that goes in or out."""
    warm_kernel_count: int = Field(default=2, gt=0)
    """Jupyter: kernels that are started before they are asked for."""
    policy: StaticPolicy = StaticPolicy()
    """Static check of a block before it runs."""
    shaping: Shaping = WholeOutput()
    """The model's view of a block's output."""
    preload: tuple[str, ...] = ("collections", "itertools", "math", "re")
    """Modules that are imported once per worker, so that a block's import costs nothing; no name is bound."""

    def with_folder(self) -> "RuntimeSpec":
        """Return the settings with a scratch folder, unless they decide."""
        if self.scratch_limit_bytes is not None:
            return self
        return self.model_copy(update={"scratch_limit_bytes": _SCRATCH_BYTES})

    def for_contracts(self, contracts: Iterable[Contract]) -> "RuntimeSpec":
        """Return the settings, with a scratch folder if a contract says what happens to files."""
        if any(contract.keeps_files is not None for contract in contracts):
            return self.with_folder()
        return self
