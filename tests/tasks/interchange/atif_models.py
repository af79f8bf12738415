"""What ATIF v1.8 (Harbor RFC 0001) asks of a document like ours: no media, no subagents, no continuations."""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

Count = Annotated[int, Field(ge=0)]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    extra: dict[str, Any] | None = None


class Agent(_Part):
    """Who acted."""

    name: str
    version: str
    model_name: str | None = None
    tool_definitions: list[dict[str, Any]] | None = None


class ToolCall(_Part):
    """An action of an agent's step."""

    tool_call_id: str
    function_name: str
    arguments: dict[str, Any]


class Result(_Part):
    """An answer to a call, or to an action that was none."""

    source_call_id: str | None = None
    content: str | None = None


class Observation(BaseModel):
    """What the environment answered."""

    model_config = ConfigDict(strict=True, extra="forbid")

    results: list[Result]


class Metrics(_Part):
    """Costs of a step; cached tokens are some of the prompt's."""

    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    cached_tokens: Count | None = None
    cost_usd: float | None = None


class FinalMetrics(_Part):
    """Sums over the steps."""

    total_prompt_tokens: Count | None = None
    total_completion_tokens: Count | None = None
    total_cached_tokens: Count | None = None
    total_cost_usd: float | None = None
    total_steps: Count | None = None


class Step(_Part):
    """A message with what came of it; calls and metrics are an agent's, observations also a system's."""

    step_id: Annotated[int, Field(ge=1)]
    timestamp: str | None = None
    source: Literal["system", "user", "agent"]
    model_name: str | None = None
    message: str
    reasoning_content: str | None = None
    tool_calls: list[ToolCall] | None = None
    observation: Observation | None = None
    metrics: Metrics | None = None
    llm_call_count: Count | None = None

    @model_validator(mode="after")
    def _is_an_agents_where_it_acts(self) -> Self:
        if self.source != "agent" and (self.tool_calls or self.metrics or self.model_name or self.reasoning_content):
            raise ValueError(f"a step of {self.source} has a field of an agent's")
        return self

    @model_validator(mode="after")
    def _answers_its_own_calls(self) -> Self:
        calls = {call.tool_call_id for call in self.tool_calls or ()}
        answered = {result.source_call_id for result in (self.observation.results if self.observation else ())}
        if unknown := answered - calls - {None}:
            raise ValueError(f"an observation answers {unknown}, the step's calls are {calls}")
        return self


class Trajectory(_Part):
    """A document."""

    schema_version: Literal["ATIF-v1.8"]
    session_id: str | None = None
    trajectory_id: str | None = None
    agent: Agent
    steps: Annotated[list[Step], Field(min_length=1)]
    notes: str | None = None
    final_metrics: FinalMetrics | None = None

    @model_validator(mode="after")
    def _numbers_its_steps_from_one(self) -> Self:
        if [step.step_id for step in self.steps] != list(range(1, len(self.steps) + 1)):
            raise ValueError("steps are not numbered 1, 2, ...")
        return self
