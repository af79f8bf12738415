"""Our server's HTTP: OpenAI's chat completions, as vLLM's."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from importlib import metadata
from typing import Any

from jinja2 import TemplateError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from carryover.tasks.serving.cpu.chat_request import ApiError, ChatRequest, describe_api, parse_request
from carryover.tasks.serving.cpu.model_engine import GenerationReply, GenerationRequest
from carryover.tasks.serving.cpu.models import LoadedModel
from carryover.tasks.serving.cpu.sampling import SamplingParameters
from carryover.tasks.serving.cpu.scheduler import Scheduler
from carryover.tasks.serving.cpu.tool_calls import read_tool_calls
from carryover.tasks.traces.vocabulary import EPISODE_HEADER

BODY_BYTES = 8 * 2**20
"""Largest request; the longest context of the study takes a hundredth of it."""
UNREAD_BYTES = 8 * BODY_BYTES
"""Bytes of an oversized request that are read and discarded: most clients read an answer only after sending all."""


@dataclass(eq=False)
class ChatApi:
    """Routes of one server over its loaded models."""

    models: list[LoadedModel]
    scheduler: Scheduler
    max_tokens: int
    template_kwargs: dict[str, Any]

    def build_app(self) -> Starlette:
        """Return the ASGI application; its lifespan runs the scheduler."""
        return Starlette(
            routes=[
                Route("/health", self.tell_health),
                Route("/version", self.tell_version),
                Route("/openapi.json", self.tell_description),
                Route("/v1/models", self.list_models),
                Route("/v1/models/{name:path}", self.show_model),
                Route("/v1/chat/completions", self.complete, methods=["POST"]),
            ],
            exception_handlers=dict.fromkeys((ApiError, HTTPException, Exception), answer_error),
            lifespan=self.run_scheduler,
        )

    @contextlib.asynccontextmanager
    async def run_scheduler(self, _: Starlette) -> AsyncIterator[None]:
        """Compute replies as long as the application runs."""
        self._loop = asyncio.create_task(self.scheduler.run())
        yield
        self._loop.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._loop

    async def tell_health(self, _: Request) -> Response:
        """Answer 503 once the engine has ended."""
        return Response(status_code=503 if self._loop.done() else 200)

    async def tell_version(self, _: Request) -> JSONResponse:
        """Answer as vLLM's server does."""
        return JSONResponse({"version": f"carryover {metadata.version('carryover')}"})

    async def tell_description(self, _: Request) -> JSONResponse:
        """Describe every route to tools that read OpenAPI."""
        return JSONResponse(describe_api(metadata.version("carryover"), [model.name for model in self.models]))

    async def list_models(self, _: Request) -> JSONResponse:
        """List every model."""
        return JSONResponse({"object": "list", "data": [self._describe(model.name) for model in self.models]})

    async def show_model(self, request: Request) -> JSONResponse:
        """Describe one model."""
        return JSONResponse(self._describe(self._find(request.path_params["name"]).name))

    def _describe(self, name: str) -> dict[str, Any]:
        limit = {"max_model_len": self.max_tokens}
        return {"id": name, "object": "model", "created": 0, "owned_by": "carryover", **limit}

    def _find(self, name: str) -> LoadedModel:
        models = {model.name: model for model in self.models}
        if name not in models:
            message = f"The model `{name}` does not exist; this server has {', '.join(models)}."
            raise ApiError(404, "NotFoundError", message, "model")
        return models[name]

    async def complete(self, http_request: Request) -> Response:
        """Answer a chat, whole or as a stream."""
        request = parse_request(await read_body(http_request))
        model = self._find(request.model)
        prompt_ids = await asyncio.to_thread(self._render, model, request)  # a long text takes seconds
        parameters = self._parameters(request, len(prompt_ids))
        generation = GenerationRequest(prompt_ids, parameters, episode_id=http_request.headers.get(EPISODE_HEADER))
        working = asyncio.ensure_future(self.scheduler.complete(model.name, generation))
        if request.stream:
            return StreamingResponse(_stream(request, model, generation, working), media_type="text/event-stream")
        try:
            while not (await asyncio.wait((working,), timeout=0.5))[0]:
                if await http_request.is_disconnected():
                    raise ApiError(499, "ClientDisconnected", "the client closed the connection")
            reply = working.result()
            identity = _identity(model.name, "chat.completion")
            return JSONResponse({**identity, "choices": [reply_choice(request, reply)], "usage": _usage(reply)})
        finally:
            working.cancel()

    def _parameters(self, request: ChatRequest, prompt_length: int) -> SamplingParameters:
        """Return a reply's decoding; raise `ApiError` without room in the context."""
        least = request.token_limit or 1
        total = prompt_length + least
        if total > self.max_tokens:
            message = (
                f"This model's maximum context length is {self.max_tokens} tokens. However, you requested "
                f"{least} output tokens and your prompt contains {prompt_length} input tokens, for a total of "
                f"{total} tokens. Please reduce the length of the input prompt or the number of requested output "
                "tokens."
            )
            raise ApiError(400, "BadRequestError", message)
        return SamplingParameters(
            max_tokens=request.token_limit or self.max_tokens - prompt_length,
            temperature=request.temperature,
            top_p=request.top_p,
            seed=None if request.seed is None else request.seed % 2**64,
            stop=request.stops,
            ignores_end=request.ignore_eos,
        )

    def _render(self, model: LoadedModel, request: ChatRequest) -> list[int]:
        """Return the prompt's tokens; raise `ApiError` if the template refuses."""
        text = self._write(model, request, request.offered)
        if request.offered and text == self._write(model, request, []):
            raise ApiError(400, "BadRequestError", f"The chat template of `{model.name}` shows no tools.", "tools")
        prompt_ids = model.tokenizer.encode(text, add_special_tokens=False)  # the template writes those
        if not prompt_ids:
            raise ApiError(400, "BadRequestError", f"The chat template of `{model.name}` writes an empty prompt.")
        return prompt_ids

    def _write(self, model: LoadedModel, request: ChatRequest, tools: list[Any]) -> str:
        variables = self.template_kwargs | request.chat_template_kwargs
        render = model.tokenizer.apply_chat_template
        try:
            messages = [message.template_form() for message in request.messages]
            return str(render(messages, tools=tools or None, tokenize=False, add_generation_prompt=True, **variables))
        except (TemplateError, TypeError, ValueError, RecursionError) as error:  # of this request only
            message = f"The chat template of `{model.name}` refuses the request: {error}"
            raise ApiError(400, "BadRequestError", message) from error


def reply_choice(request: ChatRequest, reply: GenerationReply) -> dict[str, Any]:
    """Return a reply in OpenAI's form, tool calls apart from text."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.text, "refusal": None}
    reason = reply.finish_reason
    if request.offered:
        read = read_tool_calls(reply.text)
        message["content"] = read.content
        if read.tool_calls:
            message["tool_calls"] = read.tool_calls
            reason = "tool_calls"
    return {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}


async def read_body(request: Request) -> bytes:
    """Return a request's body; raise `ApiError` if large or broken off."""
    body = bytearray()
    size = 0
    try:
        async for chunk in request.stream():
            size += len(chunk)
            if size <= BODY_BYTES:
                body += chunk
            elif size > UNREAD_BYTES:
                break
    except ClientDisconnect as error:
        raise ApiError(499, "ClientDisconnected", "the client closed the connection") from error
    if size > BODY_BYTES:
        raise ApiError(413, "BadRequestError", f"the request is larger than {BODY_BYTES} bytes")
    return bytes(body)


async def _stream(
    request: ChatRequest, model: LoadedModel, generation: GenerationRequest, working: asyncio.Future[GenerationReply]
) -> AsyncIterator[str]:
    """Yield server-sent events: settled text, reason, usage, end."""
    identity = _identity(model.name, "chat.completion.chunk")
    stops = generation.parameters.stop
    held_back = max((len(stop) - 1 for stop in stops), default=0)
    sent = 0

    def event(delta: dict[str, str], reason: str | None = None) -> str:
        return _event({**identity, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})

    try:
        yield event({"role": "assistant", "content": ""})
        while not working.done():
            await asyncio.wait((working,), timeout=0.02)
            text = str(model.tokenizer.decode(list(generation.generated), skip_special_tokens=True))
            ends = [text.find(stop) for stop in stops if stop in text]
            # The first bytes of a character are decoded to U+FFFD.
            safe = min([len(text.rstrip("\ufffd")) - held_back, *ends])
            if not working.done() and safe > sent:
                yield event({"content": text[sent:safe]})
                sent = safe
        reply = working.result()
        yield event({"content": reply.text[sent:]})
        yield event({}, reply.finish_reason)
        if request.stream_options.include_usage:
            yield _event({**identity, "choices": [], "usage": _usage(reply)})
        yield "data: [DONE]\n\n"
    except RuntimeError as error:
        yield _event(ApiError(500, "InternalServerError", str(error)).body)
    finally:
        working.cancel()


def _event(data: dict[str, Any]) -> str:
    return f"data: {json.dumps(data)}\n\n"


async def answer_error(request: Request, error: Exception) -> JSONResponse:
    """Answer with an error of OpenAI's shape."""
    headers = None
    if isinstance(error, HTTPException):
        kind = "NotFoundError" if error.status_code == 404 else "BadRequestError"
        headers = error.headers
        error = ApiError(error.status_code, kind, f"{request.method} {request.url.path}: {error.detail}")
    elif not isinstance(error, ApiError):
        error = ApiError(500, "InternalServerError", str(error))
    return JSONResponse(error.body, status_code=error.status, headers=headers)


def _identity(model: str, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": int(time.time()), "model": model, "object": kind}


def _usage(reply: GenerationReply) -> dict[str, Any]:
    return {
        "prompt_tokens": reply.prompt_tokens,
        "completion_tokens": reply.completion_tokens,
        "total_tokens": reply.prompt_tokens + reply.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": reply.cached_tokens},
    }
