"""The HTTP face of the CPU server: OpenAI's chat completions, with vLLM's additions and error texts."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
import uuid
from collections.abc import AsyncIterator, Mapping
from importlib import metadata
from typing import Any, Literal

from jinja2 import TemplateError
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from carryover.tasks.serving.cpu.engine import GenerationRequest, Reply
from carryover.tasks.serving.cpu.models import LoadedModel
from carryover.tasks.serving.cpu.sampling import SamplingParameters
from carryover.tasks.serving.cpu.scheduler import Scheduler

EPISODE_HEADER = "x-episode-id"
"""Names the conversation, so that its cache is found without searching."""


class TextPart(BaseModel):
    """A piece of a message in OpenAI's list form."""

    model_config = ConfigDict(extra="forbid")

    type: Literal["text"]
    text: str


class ChatMessage(BaseModel):
    """A message of the conversation."""

    model_config = ConfigDict(extra="forbid")

    role: Literal["system", "user", "assistant"]
    content: str | list[TextPart]

    @property
    def text(self) -> str:
        """The content as one string."""
        return self.content if isinstance(self.content, str) else "".join(part.text for part in self.content)


class ChatRequest(BaseModel):
    """Body of a chat completion; a field that would be ignored is refused instead."""

    model_config = ConfigDict(extra="forbid")

    model: str
    messages: list[ChatMessage] = Field(min_length=1)
    max_tokens: int | None = Field(default=None, ge=1)
    max_completion_tokens: int | None = Field(default=None, ge=1)
    """Wins over `max_tokens`; without both, the reply may fill the context."""
    temperature: float = Field(default=1.0, ge=0, le=2)
    top_p: float = Field(default=1.0, gt=0, le=1)
    seed: int | None = Field(default=None, ge=0, lt=2**64)
    stop: str | list[str] | None = None
    n: Literal[1] = 1
    stream: Literal[False] = False
    user: str | None = None
    """Taken and not used, as OpenAI documents it."""
    ignore_eos: bool = False
    """vLLM's: go on after the end token."""
    chat_template_kwargs: dict[str, Any] = {}
    """vLLM's: arguments of the chat template, e.g. `enable_thinking`."""

    @property
    def requested_tokens(self) -> int | None:
        """Longest reply asked for."""
        return self.max_completion_tokens or self.max_tokens


async def _tell_version(_: Request) -> JSONResponse:
    return JSONResponse({"version": f"carryover {metadata.version('carryover')}"})


class ApiError(Exception):
    """A request that is answered with an error."""

    def __init__(self, status: int, type_name: str, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"error": {"message": message, "type": type_name, "param": param, "code": status}}


class ChatApi:
    """Routes of one server over its loaded models."""

    def __init__(
        self, models: list[LoadedModel], scheduler: Scheduler, *, max_tokens: int, template_kwargs: Mapping[str, Any]
    ) -> None:
        self._models = {model.name: model for model in models}
        self._scheduler = scheduler
        self._max_tokens = max_tokens
        self._template_kwargs = dict(template_kwargs)

    def build_app(self) -> Starlette:
        """Return the ASGI application; its lifespan runs the scheduler."""
        return Starlette(
            routes=[
                Route("/health", self._health),
                Route("/version", _tell_version),
                Route("/v1/models", self._list_models),
                Route("/v1/chat/completions", self._complete, methods=["POST"]),
            ],
            exception_handlers={ApiError: _answer_error},
            lifespan=self._lifespan,
        )

    @contextlib.asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        self._loop = asyncio.create_task(self._scheduler.run())
        self._loop.add_done_callback(_end_process_after_failure)
        yield
        self._loop.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._loop

    async def _health(self, _: Request) -> Response:
        return Response(status_code=503 if self._loop.done() else 200)

    async def _list_models(self, _: Request) -> JSONResponse:
        data = [
            {"id": name, "object": "model", "created": 0, "owned_by": "carryover", "max_model_len": self._max_tokens}
            for name in self._models
        ]
        return JSONResponse({"object": "list", "data": data})

    async def _complete(self, http_request: Request) -> JSONResponse:
        request = _parse(await http_request.body())
        model = self._models.get(request.model)
        if model is None:
            message = f"The model `{request.model}` does not exist; this server has {', '.join(self._models)}."
            raise ApiError(404, "NotFoundError", message, "model")
        prompt_ids = self._render(model, request)
        generation = GenerationRequest(
            prompt_ids,
            self._parameters(request, len(prompt_ids)),
            episode_id=http_request.headers.get(EPISODE_HEADER),
        )
        reply = await self._wait(http_request, self._scheduler.complete(model.name, generation))
        return JSONResponse(_completion_body(model.name, reply))

    def _render(self, model: LoadedModel, request: ChatRequest) -> list[int]:
        messages = [{"role": message.role, "content": message.text} for message in request.messages]
        template_kwargs = self._template_kwargs | request.chat_template_kwargs
        try:
            text = model.tokenizer.apply_chat_template(
                messages, tokenize=False, add_generation_prompt=True, **template_kwargs
            )
        except (TemplateError, TypeError, ValueError) as error:  # of the request: another one may be rendered
            message = f"The chat template of `{model.name}` refuses the request: {error}"
            raise ApiError(400, "BadRequestError", message) from error
        # The template writes the special tokens itself.
        assert isinstance(text, str)
        return model.tokenizer.encode(text, add_special_tokens=False)

    def _parameters(self, request: ChatRequest, prompt_length: int) -> SamplingParameters:
        wanted = request.requested_tokens
        if prompt_length + (wanted or 1) > self._max_tokens:
            raise ApiError(400, "BadRequestError", _overflow_message(self._max_tokens, prompt_length, wanted or 1))
        stop = [request.stop] if isinstance(request.stop, str) else request.stop or []
        return SamplingParameters(
            max_tokens=wanted or self._max_tokens - prompt_length,
            temperature=request.temperature,
            top_p=request.top_p,
            seed=request.seed,
            stop=tuple(text for text in stop if text),
            ignores_end=request.ignore_eos,
        )

    async def _wait(self, http_request: Request, completion: Any) -> Reply:
        """Wait for the reply, or give the request up when the client hangs up."""
        working = asyncio.ensure_future(completion)
        hanging_up = asyncio.ensure_future(_wait_for_disconnect(http_request))
        try:
            await asyncio.wait((working, hanging_up), return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                raise ApiError(499, "ClientDisconnected", "the client closed the connection")
            return working.result()
        finally:
            hanging_up.cancel()
            working.cancel()


def _end_process_after_failure(loop: asyncio.Task[None]) -> None:
    # A stopped engine answers nobody again; the shutdown that follows logs what stopped it.
    if not loop.cancelled():
        signal.raise_signal(signal.SIGTERM)


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _answer_error(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, ApiError)
    return JSONResponse(error.body, status_code=error.status)


def _parse(body: bytes) -> ChatRequest:
    try:
        return ChatRequest.model_validate_json(body)
    except ValidationError as error:
        problems = [f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors()]
        raise ApiError(400, "BadRequestError", "; ".join(problems)) from error


def _overflow_message(max_tokens: int, prompt_length: int, wanted: int) -> str:
    return (
        f"This model's maximum context length is {max_tokens} tokens. However, you requested {wanted} output tokens "
        f"and your prompt contains {prompt_length} input tokens, for a total of {prompt_length + wanted} tokens. "
        "Please reduce the length of the input prompt or the number of requested output tokens."
    )


def _completion_body(model_name: str, reply: Reply) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{uuid.uuid4().hex}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model_name,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": reply.text},
                "logprobs": None,
                "finish_reason": reply.finish_reason,
            }
        ],
        "usage": {
            "prompt_tokens": reply.prompt_tokens,
            "completion_tokens": reply.completion_tokens,
            "total_tokens": reply.prompt_tokens + reply.completion_tokens,
            "prompt_tokens_details": {"cached_tokens": reply.cached_tokens},
        },
    }
