"""Specs of an episode's rules and of a model's endpoint."""

from typing import Literal, Self

from pydantic import Field, model_validator

from carryover.tasks.agent.credentials import PlainAddress
from carryover.tasks.agent.faults import FaultSpec
from carryover.tasks.runtime.contract import Scope
from carryover.tasks.services.frozen_model import FrozenModel

PromptSet = Literal["full", "compact"]
"""`full` follows the paper's prompts; `compact` says the same in a few lines, for models that pay per token."""


class EpisodeSpec(FrozenModel):
    """The rules of an episode (arXiv 2603.01209, appendices B and E)."""

    max_turns: int = 40
    """Model replies before the episode ends with `max_turns`."""
    tool_call_cap: int | None = 25
    """Tool calls allowed per turn; None for no cap. The paper leaves it open at evaluation, so it is a factor."""
    max_tokens: int | None = Field(default=None, gt=0, exclude_if=lambda limit: limit is None)
    """Prompt and completion tokens of all replies together, before the episode ends with `max_tokens`; None for no
    limit. Excluded from the dump if it is None, so that digests stay stable."""
    timeout_seconds: float = 3600.0
    """Seconds after which an episode is given up as failed (`error`), to be tried again: a guard against an endpoint
    that hangs. The authors end an evaluation's episode after 900 s and a teacher's after 300 s, so that the machine's
    load decides; here `max_tokens` does."""
    prompt_set: PromptSet = "full"
    """Wording of prompts and observations."""
    temperature: float | None = 0.2
    """Sampling temperature; None leaves it to the endpoint, as for the paper's teacher."""
    max_completion_tokens: int | None = 12_288
    """Most tokens of one reply; None leaves it to the endpoint."""
    faults: FaultSpec | None = None
    """Faults that the harness injects, so that the trace shows their repair; `None` disables them."""
    varies_wording: bool = False
    """Whether the runtime instruction and the header are worded differently from instance to instance."""
    declares_contract: bool = Field(default=True, exclude_if=lambda is_declared: is_declared)
    """Whether prompt and header tell the contract; false leaves both out, in compact prompts alone, since the full ones
    demonstrate it. Excluded from the dump where it is true, so that digests stay stable."""
    stateless_scope: Scope = Field(default="process", exclude_if=lambda scope: scope == "process")
    """Scope that ends with a block under the stateless contract: its process, or its user names only (an ablation arm).
    Excluded from the dump where it is `process`, so that digests stay stable."""

    @model_validator(mode="after")
    def _only_compact_prompts_keep_the_contract_back(self) -> Self:
        if not self.declares_contract and self.prompt_set != "compact":
            raise ValueError("full prompts demonstrate the contract; declares_contract false needs prompt_set compact")
        return self


class EndpointSpec(FrozenModel):
    """An OpenAI-compatible endpoint."""

    base_url: PlainAddress
    """Address up to and including the version, e.g. `http://127.0.0.1:8000/v1`."""
    api_key_variable: str | None = None
    """Environment variable or `secret/NAME` block that holds the key, which is never stored; None for no key."""
    concurrency: int = 4
    """Requests in flight at a time."""
    request_timeout_seconds: float = 300.0
    """Limit of one request (the authors' configuration)."""
    max_retries: int = 3
    """Further attempts after a connection error, a timeout, 408, 409, 429 or 5xx."""
    extra_body: dict[str, bool | int | float | str | dict[str, bool | int | float | str]] = Field(
        default={"chat_template_kwargs": {"enable_thinking": False}}
    )
    """Fields sent beside the standard ones; the default switches thinking off through the chat template."""
