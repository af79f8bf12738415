"""The model client of an agent: given, or of an endpoint."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic import SecretStr

from carryover.tasks.agent.episode_spec import EndpointSpec
from carryover.tasks.agent.openai_client import OpenAIClient
from carryover.tasks.agent.protocol import ModelClient


class Connection(NamedTuple):
    """Address, key and limits of an agent's endpoint."""

    endpoint: str | None
    api_key_variable: str | None
    api_key: str | None
    headers: Mapping[str, str] | None
    extra_body: Mapping[str, Any] | None
    request_timeout_seconds: float
    max_retries: int

    def client(self, model: str | ModelClient) -> ModelClient:
        """Return a model's client; raise `ValueError` for a name without an endpoint."""
        if not isinstance(model, str):
            return model
        if self.endpoint is None:
            raise ValueError(f"model {model!r} has no endpoint; give endpoint='http://127.0.0.1:8000/v1' or a client")
        spec = EndpointSpec(
            base_url=self.endpoint,
            api_key_variable=self.api_key_variable,
            extra_body=dict(self.extra_body or {}),
            request_timeout_seconds=self.request_timeout_seconds,
            max_retries=self.max_retries,
        )
        key = None
        if self.api_key is not None:
            key = SecretStr(self.api_key)
        return OpenAIClient(spec, model, key=key, headers=self.headers)
