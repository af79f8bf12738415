"""Bodies of chat completions, and the server's OpenAPI document."""

from __future__ import annotations

import inspect
import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

_SCHEMAS = "#/components/schemas/"


class ApiError(Exception):
    """A request that is answered with an error of OpenAI's shape."""

    def __init__(self, status: int, type_name: str, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"error": {"message": message, "type": type_name, "param": param, "code": status}}


class _Body(BaseModel):
    """An object of a request.

    Null means the default, as clients send it, and what would be ignored is refused.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: each for key, each in value.items() if each is not None}
        return value


class TextPart(_Body):
    """A piece of a message in OpenAI's list form."""

    type: Literal["text"]
    text: str


Role = Annotated[
    Literal["system", "user", "assistant", "tool"],
    BeforeValidator(lambda role: "system" if role == "developer" else role),
]
"""`developer` is what OpenAI calls `system` since its reasoning models."""


class CalledFunction(_Body):
    """A function with its arguments."""

    name: str
    arguments: str
    """JSON text of an object."""

    def template_form(self) -> dict[str, Any]:
        """Return the call as chat templates take it.

        Its arguments are an object; raise `ValueError` if they are not JSON.
        """
        return {"name": self.name, "arguments": json.loads(self.arguments)}


class SentCall(_Body):
    """A tool call of an earlier reply, as clients send it back."""

    id: str = ""
    type: Literal["function"] = "function"
    function: CalledFunction


class OfferedTool(_Body):
    """A function that the model may call."""

    type: Literal["function"]
    function: dict[str, Any]
    """Name, description and JSON schema of the parameters."""


class ChatMessage(_Body):
    """A message of the conversation."""

    role: Role
    content: str | list[TextPart] = ""
    name: str = ""
    """Accepted and ignored: no chat template shows it."""
    tool_calls: list[SentCall] = []
    """Of an earlier reply."""
    tool_call_id: str = ""
    """Of a tool's message: the call that it answers."""
    annotations: list[Any] = Field(default=[], max_length=0)
    """Of a reply that a client sends back."""

    @property
    def text(self) -> str:
        """The content as one string."""
        if isinstance(self.content, str):
            return self.content
        return "".join(part.text for part in self.content)

    def template_form(self) -> dict[str, Any]:
        """Return the message as chat templates take it.

        Raise `ValueError` for a call whose arguments are not JSON.
        """
        message: dict[str, Any] = {"role": self.role, "content": self.text}
        if self.tool_calls:
            calls = [call.function.template_form() for call in self.tool_calls]
            message["tool_calls"] = [{"type": "function", "function": call} for call in calls]
        if self.tool_call_id:
            message["tool_call_id"] = self.tool_call_id
        return message


class StreamOptions(_Body):
    """Options of a stream beside the text."""

    include_usage: bool = False
    include_obfuscation: bool = False


class ResponseFormat(_Body):
    """Plain text, the only format."""

    type: Literal["text"]


class ChatRequest(_Body):
    """Body of a chat completion."""

    model: str
    messages: list[ChatMessage] = Field(min_length=1)
    max_tokens: int | None = Field(default=None, ge=1)
    max_completion_tokens: int | None = Field(default=None, ge=1)
    """Wins over `max_tokens`; without both, the reply may fill the context."""
    temperature: float = Field(default=1.0, ge=0, le=2)
    top_p: float = Field(default=1.0, gt=0, le=1)
    seed: int | None = Field(default=None, ge=-(2**63), lt=2**64)
    stop: str | list[str] = []
    stream: bool = False
    stream_options: StreamOptions = StreamOptions()
    ignore_eos: bool = False
    """vLLM's: continue after the end token."""
    chat_template_kwargs: dict[str, Any] = {}
    """vLLM's: variables of the chat template, e.g. `enable_thinking`."""
    n: Literal[1] = 1
    presence_penalty: Literal[0] = 0
    frequency_penalty: Literal[0] = 0
    logprobs: Literal[False] = False
    top_logprobs: Literal[0] = 0
    logit_bias: dict[str, float] = Field(default={}, max_length=0)
    tools: list[OfferedTool] = []
    tool_choice: Literal["none", "auto"] = "auto"
    """`none` shows the model no tools."""
    response_format: ResponseFormat = ResponseFormat(type="text")
    modalities: list[Literal["text"]] = ["text"]
    parallel_tool_calls: bool = True
    store: bool = False
    """This and what follows is accepted and ignored, as it changes no reply."""
    metadata: dict[str, str] = {}
    reasoning_effort: str = ""
    user: str = ""
    safety_identifier: str = ""
    prompt_cache_key: str = ""
    service_tier: str = "auto"

    @model_validator(mode="after")
    def _variables_are_the_template_s(self) -> ChatRequest:
        from transformers import PreTrainedTokenizerBase

        # A template of the request's own, and how the server renders one.
        own = inspect.signature(PreTrainedTokenizerBase.apply_chat_template).parameters
        if refused := sorted(self.chat_template_kwargs.keys() & {*own, "messages", "conversations"}):
            raise ValueError(f"chat_template_kwargs may not set {', '.join(refused)}")
        if self.stream and self.offered:
            raise ValueError("tool calls are not streamed; ask without stream")
        return self

    @property
    def offered(self) -> list[dict[str, Any]]:
        """The tools that the model is shown."""
        if self.tool_choice == "none":
            return []
        return [tool.model_dump() for tool in self.tools]

    @property
    def token_limit(self) -> int | None:
        """Tokens that the reply may have; None for what the context leaves."""
        return self.max_completion_tokens or self.max_tokens

    @property
    def stops(self) -> tuple[str, ...]:
        """Texts that end the reply."""
        named = [self.stop] if isinstance(self.stop, str) else self.stop
        return tuple(text for text in named if text)


def parse_request(body: bytes) -> ChatRequest:
    """Return the request in a body; raise `ApiError` if it is none."""
    try:
        return ChatRequest.model_validate_json(body)
    except ValidationError as error:
        first = error.errors()[0]
        param = ".".join(map(str, first["loc"])) or None
        problems = "; ".join(
            f"{'.'.join(map(str, each['loc'])) or 'body'}: {each['msg'].removeprefix('Value error, ')}"
            for each in error.errors()
        )
        raise ApiError(400, "BadRequestError", problems, param) from error


def describe_api(version: str, models: list[str]) -> dict[str, Any]:
    """Return the OpenAPI document of a server of these models."""
    request = ChatRequest.model_json_schema(ref_template=f"{_SCHEMAS}{{model}}")
    request["properties"]["model"]["enum"] = models
    schemas = {**request.pop("$defs"), "Request": request, "Error": _object(error=_object("message", "type", "code"))}
    name = {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}
    reply = _answer("id", "object", "created", "model", "choices", "usage")
    reply["content"]["text/event-stream"] = {}
    body = {"required": True, "content": _json({"$ref": f"{_SCHEMAS}Request"})}
    paths = {
        "/health": {"get": _route({"200": {"description": "alive"}, "503": {"description": "the engine has ended"}})},
        "/version": {"get": _route({"200": _answer("version")})},
        "/v1/models": {"get": _route({"200": _answer("object", "data")})},
        "/v1/models/{name}": {"get": {**_route({"200": _answer("id")}, 404), "parameters": [name]}},
        "/v1/chat/completions": {"post": {**_route({"200": reply}, 400, 404, 413), "requestBody": body}},
    }
    information = {"title": "Carryover's model server", "version": version}
    return {"openapi": "3.1.0", "info": information, "paths": paths, "components": {"schemas": schemas}}


def _route(answers: dict[str, Any], *refusals: int) -> dict[str, Any]:
    refused = {"description": "refused, in OpenAI's shape", "content": _json({"$ref": f"{_SCHEMAS}Error"})}
    return {"responses": {**answers, **{str(status): refused for status in refusals}}}


def _answer(*fields: str) -> dict[str, Any]:
    return {"description": "answered", "content": _json(_object(*fields))}


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _object(*fields: str, **described: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "required": [*fields, *described], "properties": described}
