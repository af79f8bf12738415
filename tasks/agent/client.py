"""Which model answers, as data, and the client that it stands for."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from carryover.tasks.agent.condition import Condition
from carryover.tasks.agent.openai_client import OpenAIClient
from carryover.tasks.agent.protocol import ModelClient
from carryover.tasks.agent.slots import Places, places_of
from carryover.tasks.agent.spec import EndpointSpec
from carryover.tasks.agent.teachers.open import CountTokens, open_teacher


class ScriptedClientSpec(BaseModel):
    """A deterministic policy of ours."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["scripted"] = "scripted"
    prints_table: bool = True
    """Whether a stateless teacher of the small buckets prints the table that it rebuilds."""
    concurrency: int = 4
    """Episodes at a time."""

    def places(self) -> Places:
        """Return places of the caller's own: a policy of ours waits for nobody."""
        return Places(self.concurrency)


class EndpointClientSpec(BaseModel):
    """A model behind an OpenAI-compatible endpoint."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["endpoint"] = "endpoint"
    endpoint: EndpointSpec
    cache: Path | None = None
    """Folder that keeps a teacher's responses by request; none asks every time."""

    @property
    def concurrency(self) -> int:
        """Episodes at a time: one for each request in flight."""
        return self.endpoint.concurrency

    def places(self) -> Places:
        """Return the endpoint's places, which all that is played on it at the same time shares."""
        return places_of(self.endpoint.base_url, self.concurrency)


ClientSpec = ScriptedClientSpec | EndpointClientSpec


@asynccontextmanager
async def open_client(
    spec: ClientSpec, condition: Condition, count_tokens: CountTokens | None = None
) -> AsyncIterator[ModelClient]:
    """Yield the client that plays a condition; `count_tokens` counts for a scripted one, an endpoint counts itself.

    The connections to an endpoint are closed at the end of the block.
    """
    match spec:
        case ScriptedClientSpec():
            yield open_teacher(
                condition.bucket, condition.runtime_contract, count_tokens, prints_table=spec.prints_table
            )
        case EndpointClientSpec():
            endpoint = spec.endpoint
            if condition.purpose == "evaluation" and condition.train_contract is None:
                variables: Any = endpoint.extra_body.get("chat_template_kwargs", {})
                body = {**endpoint.extra_body, "chat_template_kwargs": {**variables, "is_base": True}}
                endpoint = endpoint.model_copy(update={"extra_body": body})
            client = OpenAIClient(endpoint, condition.model_name, cache_folder=spec.cache)
            try:
                yield client
            finally:
                await client.close()
