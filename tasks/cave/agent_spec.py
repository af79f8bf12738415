"""The rules and budgets of an agent."""

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, field_validator

from carryover.tasks.runtime.policy import StaticPolicy
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.runtime.shaping import SizeError
from carryover.tasks.traces.vocabulary import Backend

POLICY = StaticPolicy(
    denied_imports=("ctypes", "multiprocessing", "socket", "subprocess"),
    denied_calls=("eval", "exec", "globals", "locals", "os.system"),
    denied_attributes=("__builtins__", "__globals__", "__subclasses__"),
)
"""What blocks leave alone (arXiv 2601.01569, static checks): advice to the model; the sandbox is the wall."""


class AgentSpec(BaseModel):
    """Budgets of one question, sampling and runtime of an agent."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_steps: int = Field(default=10, gt=0)
    """Model replies before the answer is given up with `max_steps`; the default of the paper's repository."""
    max_tokens: int | None = Field(default=None, gt=0)
    """Prompt and completion tokens of all replies together; None for no limit."""
    timeout_seconds: float = Field(default=900.0, gt=0)
    """Wall-clock limit of an answer, checked around model calls: a running block ends by its own limit, and a delegated
    question by that agent's."""
    context_window: int = Field(default=128_000, gt=1000)
    """Tokens that a conversation and the reply to it may have."""
    compact_at: float = Field(default=0.75, gt=0, lt=1)
    """Share of the context window at which the conversation is compacted."""
    kept_observations: int = Field(default=6, ge=0)
    """Newest observations whose output compaction leaves whole."""
    temperature: float | None = None
    """Sampling temperature; None leaves it to the endpoint."""
    max_completion_tokens: int | None = Field(default=None, gt=0)
    """Tokens that one reply may have; None leaves it to the endpoint."""
    runtime: RuntimeSpec = RuntimeSpec(shaping=SizeError(), policy=POLICY)
    """Backend, sandbox, limits, static policy and output limit of the interpreter; an agent's own where not given."""

    def with_backend(self, backend: Backend | None) -> Self:
        """Return these settings with another backend, if one is given."""
        if backend is None:
            return self
        return self.model_copy(update={"runtime": self.runtime.model_copy(update={"backend": backend})})

    @field_validator("runtime")
    @classmethod
    def _complete(cls, runtime: RuntimeSpec) -> RuntimeSpec:
        """Give the interpreter the agent's default policy and output limit."""
        missing = {"shaping": SizeError(), "policy": POLICY}
        missing = {field: value for field, value in missing.items() if field not in runtime.model_fields_set}
        return runtime.model_copy(update=missing) if missing else runtime
