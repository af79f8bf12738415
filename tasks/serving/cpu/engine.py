"""Continuous batching: requests of a model join and leave its batch between two forward passes."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from tasks.serving.cpu.cache import CachePool, Lease
from tasks.serving.cpu.ragged import Row, forward_rows
from tasks.serving.cpu.sampling import SamplingParameters, choose_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasks.serving.cpu.models import LoadedModel


class Reply(NamedTuple):
    """A finished completion."""

    text: str
    finish_reason: Literal["stop", "length"]
    prompt_tokens: int
    cached_tokens: int
    """Prompt tokens whose keys and values were there already."""
    completion_tokens: int
    """The end token included, as vLLM counts."""


@dataclass(eq=False)
class GenerationRequest:
    """A prompt to be continued, and how far it got."""

    prompt_ids: list[int]
    parameters: SamplingParameters
    episode_id: str | None = None
    is_cancelled: bool = False
    """Set by the caller when nobody waits any more."""
    reply: Reply | None = None
    """Set when the request is done."""
    generated: list[int] = field(default_factory=list)
    generator: np.random.Generator = field(init=False)
    lease: Lease | None = None
    cached_tokens: int = 0

    def __post_init__(self) -> None:
        self.generator = np.random.Generator(np.random.Philox(self.parameters.seed))

    def pending_ids(self, limit: int) -> list[int]:
        """Return up to `limit` tokens that the next pass must compute."""
        assert self.lease is not None
        held = len(self.lease.cache.token_ids)
        prompt_length = len(self.prompt_ids)
        return self.prompt_ids[held : held + limit] if held < prompt_length else self.generated[held - prompt_length :]


class ModelEngine:
    """One model with its queue and its running batch; every method but `submit` belongs to one thread."""

    def __init__(self, loaded: LoadedModel, pool: CachePool, *, max_running: int, max_batch_tokens: int = 2048) -> None:
        self.loaded = loaded
        self._pool = pool
        self._max_running = max_running
        self._max_batch_tokens = max_batch_tokens
        self._submitted: deque[GenerationRequest] = deque()
        self._running: list[GenerationRequest] = []

    @property
    def has_work(self) -> bool:
        """Whether another step would do anything."""
        return bool(self._submitted or self._running)

    def submit(self, request: GenerationRequest) -> None:
        """Queue a request; safe from any thread."""
        self._submitted.append(request)

    def step(self) -> list[GenerationRequest]:
        """Compute one pass over the batch and return the requests that ended with it, cancelled ones included."""
        cancelled = [request for request in self._running if request.is_cancelled]
        for request in cancelled:
            self._leave(request)
        rows, members = self._next_batch()
        if rows:
            self._advance(rows, members)
        finished = [request for request in self._running if request.reply is not None]
        for request in finished:
            self._leave(request)
        return cancelled + finished

    def _next_batch(self) -> tuple[list[Row], list[GenerationRequest]]:
        """Take every running request that the token budget allows, then admit queued ones."""
        rows: list[Row] = []
        members: list[GenerationRequest] = []
        budget = self._max_batch_tokens
        candidates = iter(list(self._running))
        while budget > 0:
            request = next(candidates, None) or self._admit()
            if request is None:
                break
            assert request.lease is not None
            pending = request.pending_ids(budget)
            budget -= len(pending)
            rows.append(Row(request.lease.cache, pending))
            members.append(request)
        return rows, members

    def _admit(self) -> GenerationRequest | None:
        while self._submitted and len(self._running) < self._max_running:
            if self._running and not self._pool.has_room():
                return None
            request = self._submitted.popleft()
            if request.is_cancelled:
                continue
            loaded = self.loaded
            request.lease = self._pool.lease(loaded.name, loaded.cache_shape, request.prompt_ids, request.episode_id)
            request.cached_tokens = len(request.lease.cache.token_ids)
            self._running.append(request)
            return request
        return None

    def _advance(self, rows: Sequence[Row], members: Sequence[GenerationRequest]) -> None:
        logits = forward_rows(self.loaded.model, rows)
        # A prompt longer than the budget is computed over several passes; only its last one yields a token.
        ready = [
            index
            for index, (row, request) in enumerate(zip(rows, members, strict=True))
            if len(row.cache.token_ids) == len(request.prompt_ids) + len(request.generated)
        ]
        if not ready:
            return
        choosing = [members[index] for index in ready]
        tokens = choose_tokens(
            logits[ready] if len(ready) < len(members) else logits,
            [request.parameters for request in choosing],
            [request.generator.random() for request in choosing],
        )
        for request, token in zip(choosing, tokens, strict=True):
            request.generated.append(token)
            self._finish_if_done(request, token)

    def _finish_if_done(self, request: GenerationRequest, token: int) -> None:
        parameters = request.parameters
        if token in self.loaded.end_ids and not parameters.ignores_end:
            self._finish(request, self._decode(request.generated[:-1]), "stop")
        elif parameters.stop and (stopped := self._text_before_stop(request)) is not None:
            self._finish(request, stopped, "stop")
        elif len(request.generated) >= parameters.max_tokens:
            self._finish(request, self._decode(request.generated), "length")

    def _text_before_stop(self, request: GenerationRequest) -> str | None:
        stops = request.parameters.stop
        # A token holds one byte at least, so the longest stop text lies within as many tokens as it has bytes.
        tail = self._decode(request.generated[-max(len(stop.encode()) for stop in stops) :])
        if not any(stop in tail for stop in stops):
            return None
        text = self._decode(request.generated)
        return text[: min(text.find(stop) for stop in stops if stop in text)]

    def _finish(self, request: GenerationRequest, text: str, reason: Literal["stop", "length"]) -> None:
        prompt, completion = len(request.prompt_ids), len(request.generated)
        request.reply = Reply(text, reason, prompt, request.cached_tokens, completion)

    def _leave(self, request: GenerationRequest) -> None:
        assert request.lease is not None
        self._running.remove(request)
        self._pool.give_back(request.lease)

    def _decode(self, token_ids: list[int]) -> str:
        text = self.loaded.tokenizer.decode(token_ids, skip_special_tokens=True)
        assert isinstance(text, str)
        return text
