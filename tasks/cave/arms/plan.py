"""Plan of a comparison of arms: its suites, its model, its budgets."""

import hashlib
from typing import Literal, Self

from pydantic import ConfigDict, Field, model_validator

from carryover.tasks.agent.episode_spec import EndpointSpec
from carryover.tasks.agent.openai_client import OpenAIClient
from carryover.tasks.agent.protocol import ModelClient
from carryover.tasks.cave.agent_spec import AgentSpec
from carryover.tasks.cave.arms.arm import ARMS, ArmName
from carryover.tasks.cave.arms.dialogue import Speakers
from carryover.tasks.cave.arms.lessons import LAPTOP, LEARNING_ARMS, SUITE
from carryover.tasks.cave.arms.oracle import MODEL_NAME
from carryover.tasks.cave.suites.catalogue import SuiteName
from carryover.tasks.cave.tracing import agents_source
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.frozen_model import FrozenModel
from carryover.tasks.services.source_digest import canonical_json

INSTRUCTIONS = {
    "none": "",
    "parallel": "Where several functions are needed that do not depend on each other, call all of them in one reply.",
}
"""Text that the factor of the prompt adds to the system message."""


class SuitePlan(FrozenModel):
    """A comparison; equal plans share their episodes.

    Suites and arms of a run do not count.
    """

    model_config = ConfigDict(use_attribute_docstrings=True)

    suites: tuple[SuiteName, ...] = ("token_efficiency",)
    """Suites to play."""
    arms: tuple[ArmName, ...] = tuple(ARMS)
    """Arms to play them under."""
    model: str = MODEL_NAME
    """Name under which the endpoint knows the model; oracle for the script, and laptop for small models that are
    trained for their arm first, which need no endpoint."""
    endpoint_url: str | None = None
    """Address of an OpenAI-compatible endpoint, e.g. http://127.0.0.1:8000/v1."""
    api_key_variable: str | None = None
    """Environment variable that holds the endpoint's key, or secret/NAME for a Secret block."""
    concurrency: int = Field(default=4, gt=0)
    """Episodes of an arm that play at a time."""
    replicates: int = Field(default=3, ge=1)
    """Repetitions of every case, each with decoding seeds of its own."""
    case_limit: int | None = Field(default=None, gt=0)
    """Cases per suite, taken in turn from its tiers; default: all."""
    case_seed: int = 0
    """Generates the cases."""
    instruction: Literal["none", "parallel"] = "none"
    """Factor of the prompt: parallel asks for independent calls in one reply (arXiv 2601.01569, Table 2)."""
    data: str | None = None
    """Wheel, or folder it was unpacked to, that an imported suite is read from."""
    user_model: str | None = None
    """Model that plays the customer of tau2; default: the compared model, as Inspect does."""
    user_endpoint_url: str | None = None
    """Endpoint of the customer's model; default: the compared model's."""
    judge_model: str | None = None
    """Model that judges tau2's assertions about a conversation; default: none, and `judged_reward` stays null."""
    judge_endpoint_url: str | None = None
    """Endpoint of the judge; default: the compared model's."""
    max_steps: int = Field(default=AgentSpec().max_steps, gt=0)
    """Model replies per turn."""
    context_window: int = Field(default=AgentSpec().context_window, gt=1000)
    """Tokens that a conversation and the reply to it may have."""
    temperature: float | None = None
    """Sampling temperature; default: the endpoint's."""

    @model_validator(mode="after")
    def _trained_models_play_what_they_learnt(self) -> Self:
        if self.is_trained and (self.suites != (SUITE,) or not set(self.arms) <= set(LEARNING_ARMS)):
            learnt = f"--suites {SUITE} --arms {','.join(LEARNING_ARMS)}"
            raise ValueError(f"model {LAPTOP!r} is trained for one suite and two arms; give {learnt}")
        return self

    @property
    def name(self) -> str:
        """Name of the runs of any comparison."""
        return "arms"

    @property
    def digest(self) -> str:
        """Key of a comparison's episodes: another source plays another comparison."""
        content = {
            "model": self.model,
            "url": None if self.is_trained else self.endpoint_url,  # a port of the moment
            "user": [self.user_model, self.user_endpoint_url],
            "judge": [self.judge_model, self.judge_endpoint_url],
            "seed": self.case_seed,
            "spec": self.spec,
            "source": agents_source(),
        }
        return hashlib.sha256(canonical_json(content).encode()).hexdigest()[:16]

    @property
    def spec(self) -> AgentSpec:
        """The budgets of every agent."""
        common = AgentSpec()
        # a fresh process per block would import the libraries of the data suites each time
        preload = (*common.runtime.preload, "numpy", "pandas")
        runtime = common.runtime.model_copy(update={"preload": preload, "block_timeout_seconds": 60.0})
        return AgentSpec(
            max_steps=self.max_steps,
            context_window=self.context_window,
            temperature=self.temperature,
            runtime=runtime,
        )

    @property
    def is_oracle(self) -> bool:
        """Whether the script plays."""
        return self.model == MODEL_NAME

    @property
    def is_trained(self) -> bool:
        """Whether models play that are trained for it."""
        return self.model == LAPTOP

    @property
    def scale(self) -> str:
        """Scale of the rows: the oracle's numbers say nothing about a model."""
        if self.is_oracle:
            return "smoke"
        if self.is_trained:
            return "laptop"
        return "paper"

    def open_client(self) -> ModelClient | None:
        """Return a client of the endpoint, None for the oracle.

        Raises:
            UserError: The model has no endpoint, or the endpoint's key is not set.
        """
        if self.is_oracle:
            return None
        return self._open(self.model, self.endpoint_url)

    def open_speakers(self) -> Speakers:
        """Return a simulated user's and a judge's clients.

        Under the oracle they are scripted, and none.
        """
        if self.is_oracle:
            return Speakers()
        user = self._open(self.user_model or self.model, self.user_endpoint_url or self.endpoint_url)
        judge_url = self.judge_endpoint_url or self.endpoint_url
        return Speakers(user, self._open(self.judge_model, judge_url) if self.judge_model else None)

    def _open(self, model: str, url: str | None) -> ModelClient:
        if url is None:
            raise UserError(f"model {model!r} has no endpoint; give --endpoint-url, or leave the model out")
        endpoint = EndpointSpec(
            base_url=url, api_key_variable=self.api_key_variable, concurrency=self.concurrency, extra_body={}
        )
        return OpenAIClient(endpoint, model)
