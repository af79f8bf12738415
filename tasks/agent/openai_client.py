"""Model client for any OpenAI-compatible endpoint."""

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx
import openai
from openai import RequestOptions
from openai.types.chat import ChatCompletionChunk
from pydantic import SecretStr

from carryover.tasks.agent.answer import BadAnswerError, read_answer
from carryover.tasks.agent.credentials import LOOPBACK_HOSTS, read_key
from carryover.tasks.agent.episode_spec import EndpointSpec
from carryover.tasks.agent.protocol import (
    Completion,
    CompletionRequest,
    ContextOverflowError,
    EndpointDownError,
    ModelError,
    NoReplyError,
)
from carryover.tasks.agent.response_cache import ResponseCache
from carryover.tasks.traces.vocabulary import EPISODE_HEADER, TokenSource

_ABOUT_THE_REQUEST = (400, 409, 413, 422)
"""Statuses by which an endpoint that is there refuses what it was sent."""
_FAILED_ON_IT = (408, 500)
"""Statuses by which an endpoint that is there fails on what it was sent."""
_OVERFLOW = re.compile(r"(?i)context[ _-]?(length|window)|maximum (input|prompt) length|prompt is too long")


class OpenAIClient:
    """A model behind an endpoint, asked through the official client.

    It belongs to the event loop of its first use. At most `endpoint.concurrency` requests are in flight; waiting for a
    slot does not count as model time.
    """

    token_source: TokenSource = "server"

    def __init__(
        self,
        endpoint: EndpointSpec,
        model_name: str,
        *,
        cache: ResponseCache | None = None,
        key: SecretStr | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Open the client; raise `UserError` if the key is not set.

        Replies are kept in `cache`, if one is given. A `key` takes the place of the one that `endpoint` names;
        `headers` go with every request.
        """
        self.model_name = model_name
        self._endpoint = endpoint
        self._key = key or read_key(endpoint.api_key_variable)
        self._cache = cache
        self._slots = asyncio.Semaphore(endpoint.concurrency)
        # A proxy that the environment names is for the network, not for this machine.
        uses_proxy = urlsplit(endpoint.base_url).hostname not in LOOPBACK_HOSTS
        self._client = openai.AsyncOpenAI(
            base_url=endpoint.base_url,
            api_key="none" if self._key is None else self._key.get_secret_value(),
            timeout=endpoint.request_timeout_seconds,
            max_retries=endpoint.max_retries,
            default_headers=headers,
            http_client=None if uses_proxy else openai.DefaultAsyncHttpxClient(trust_env=False),
        )

    async def complete(self, request: CompletionRequest) -> Completion:
        """Continue the conversation; raise `ModelError` after all retries."""
        body: dict[str, Any] = {
            "model": self.model_name,
            "messages": [message.wire() for message in request.messages],
            "seed": request.seed,
        }
        limits = {"temperature": request.temperature, "max_completion_tokens": request.max_completion_tokens}
        body |= {name: limit for name, limit in limits.items() if limit is not None}
        body |= {"tools": list(request.tools)} if request.tools else {}
        body |= self._endpoint.extra_body
        if self._cache is None:
            return await self._ask(body, request.episode_id, request.on_text)
        identity = {"base_url": self._endpoint.base_url, **body}
        completion = self._cache.find(identity, request.episode_id)
        if completion is None:
            completion = await self._ask(body, request.episode_id, request.on_text)
            self._cache.keep(identity, completion, request.episode_id)
        elif request.on_text is not None:
            request.on_text(completion.text)
        return completion

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _ask(
        self, body: dict[str, Any], episode_id: str, on_text: Callable[[str], None] | None = None
    ) -> Completion:
        """Post a body unchanged, and read the answer.

        `chat.completions.create` first holds every message against every type that a message may have: up to some
        milliseconds of the event loop per request, in which no other episode moves. And the client builds a
        completion of any answer with status 200, whatever it lacks.

        An error names the endpoint and its complaint without the key. The endpoint's own is not chained to it: a
        traceback would print a text that may repeat the key.
        """
        where = f"endpoint {self._endpoint.base_url}, model {self.model_name!r}"
        options: RequestOptions = {"headers": {EPISODE_HEADER: episode_id}}
        async with self._slots:
            start = time.perf_counter()
            try:
                if on_text is None:
                    response = await self._client.post(
                        "/chat/completions", cast_to=httpx.Response, body=body, options=options
                    )
                    completion = read_answer(response.content)
                else:
                    completion = await self._stream(body, options, on_text)
            except openai.APIError as error:
                status = f"HTTP {error.status_code}: " if isinstance(error, openai.APIStatusError) else ""
                raise _kind_of(error)(f"{where}: {status}{self._strike(str(error))}") from None
            except _BrokenOffError as error:
                raise NoReplyError(f"{where}: the reply broke off ({self._strike(str(error))})") from None
            except BadAnswerError as error:
                raise ModelError(f"{where} answered {self._strike(str(error))}") from None
            return completion._replace(model_seconds=time.perf_counter() - start)

    async def _stream(
        self, body: dict[str, Any], options: RequestOptions, on_text: Callable[[str], None]
    ) -> Completion:
        """Tell a reply's text as it comes, and return the whole."""
        streamed = {**body, "stream": True, "stream_options": {"include_usage": True}}
        chunks = await self._client.post(
            "/chat/completions",
            cast_to=ChatCompletionChunk,
            body=streamed,
            options=options,
            stream=True,
            stream_cls=openai.AsyncStream[ChatCompletionChunk],
        )
        text = ""
        reason = None
        usage = None
        async for chunk in _until_done(chunks):
            if chunk.usage is not None:
                usage = chunk.usage.model_dump()
            for choice in chunk.choices[:1]:
                reason = choice.finish_reason or reason
                if choice.delta.content:
                    text += choice.delta.content
                    on_text(choice.delta.content)
        choice = {"message": {"content": text}, "finish_reason": reason}
        return read_answer(json.dumps({"choices": [choice], "usage": usage}).encode())

    def _strike(self, text: str) -> str:
        """Return an endpoint's text as one line without the key."""
        struck = text if self._key is None else text.replace(self._key.get_secret_value(), "[key]")
        return " ".join(struck.split())


class _BrokenOffError(Exception):
    """The connection ended within a streamed reply."""


async def _until_done(chunks: AsyncIterator[ChatCompletionChunk]) -> AsyncIterator[ChatCompletionChunk]:
    """Yield a reply's chunks; raise `_BrokenOffError` where the connection ends before them."""
    try:
        async for chunk in chunks:
            yield chunk
    except (openai.APIConnectionError, httpx.HTTPError) as error:  # older clients raise the cause itself
        cause = error.__cause__ or error
        raise _BrokenOffError(f"{type(cause).__name__}: {cause}") from error


def _kind_of(error: openai.APIError) -> type[ModelError]:
    """Return the kind of failure: of a conversation, or of the endpoint."""
    if isinstance(error, openai.BadRequestError) and _OVERFLOW.search(f"{error.code} {error}"):
        return ContextOverflowError
    if isinstance(error, openai.APIStatusError) and error.status_code in _ABOUT_THE_REQUEST:
        return ModelError
    # By name: the client is built on httpx or on httpx2, whose errors are apart.
    is_unreachable = type(error.__cause__).__name__ == httpx.ConnectTimeout.__name__
    is_slow = isinstance(error, openai.APITimeoutError) and not is_unreachable
    if is_slow or (isinstance(error, openai.APIStatusError) and error.status_code in _FAILED_ON_IT):
        return NoReplyError
    return EndpointDownError
