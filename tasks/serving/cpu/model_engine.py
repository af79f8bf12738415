"""Continuous batching: requests join and leave between forward passes."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future
from dataclasses import KW_ONLY, dataclass, field
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

import numpy as np

from carryover.tasks.serving.cpu.cache import CachePool, KeyValueCache
from carryover.tasks.serving.cpu.drafting import FIRST_DRAFT_TOKENS, Drafter, next_draft_length
from carryover.tasks.serving.cpu.ragged import BatchRow
from carryover.tasks.serving.cpu.sampling import SamplingParameters, choose_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from carryover.tasks.serving.cpu.models import LoadedModel


class GenerationReply(NamedTuple):
    """A finished completion."""

    text: str
    finish_reason: Literal["stop", "length"]
    prompt_tokens: int
    cached_tokens: int
    """Prompt tokens whose keys and values were there already."""
    completion_tokens: int
    """The end token included, as vLLM counts."""


class DrawnToken(NamedTuple):
    """A token that a pass chose by a random number."""

    token: int
    is_close: bool
    """Whether rounding could have chosen another one."""
    uniform: float


@dataclass(eq=False)
class GenerationRequest:
    """A prompt to be continued, and how far it got."""

    prompt_ids: list[int]
    parameters: SamplingParameters
    episode_id: str | None = None
    answer: Future[GenerationReply] = field(default_factory=Future)
    """Cancelled by a caller that has stopped waiting."""
    reply: GenerationReply | None = None
    """Set when the request is done; the answer follows when its cache is free for the next turn."""
    generated: list[int] = field(default_factory=list)
    cache: KeyValueCache | None = None
    cached_tokens: int = 0
    draft_length: int = FIRST_DRAFT_TOKENS
    _generator: np.random.Generator = field(init=False)
    _uniforms: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._generator = np.random.Generator(np.random.Philox(self.parameters.seed))

    def uniforms(self, count: int) -> list[float]:
        """Return random numbers of the reply's next `count` tokens.

        Each token has its own, at whatever pass it is chosen.
        """
        start = len(self.generated)
        self._uniforms += self._generator.random(max(0, start + count - len(self._uniforms))).tolist()
        return self._uniforms[start : start + count]


@dataclass(eq=False)
class ModelEngine:
    """One model with its queue and batch, driven by one thread.

    Only `submit` may be called from another thread.
    """

    loaded: LoadedModel
    pool: CachePool
    """Holds other models' caches, too."""
    _: KW_ONLY
    max_running: int
    """Most requests in a batch."""
    max_draft_tokens: int = 16
    max_batch_tokens: int = 2048
    """A longer prompt takes several passes."""
    _drafter: Drafter = field(init=False, default_factory=Drafter)
    _submitted: deque[GenerationRequest] = field(init=False, default_factory=deque)
    _running: list[GenerationRequest] = field(init=False, default_factory=list)

    @property
    def has_work(self) -> bool:
        """Whether another step would do anything."""
        return bool(self._submitted or self._running)

    def submit(self, request: GenerationRequest) -> None:
        """Queue a request; safe from any thread."""
        self._submitted.append(request)

    def step(self) -> None:
        """Compute a pass over running requests, then queued ones.

        The token budget bounds it.
        """
        self._dismiss()
        batch: list[tuple[GenerationRequest, BatchRow]] = []
        budget = self.max_batch_tokens
        candidates = iter(list(self._running))
        while budget > 0:
            request = next(candidates, None) or self._admit()
            if request is None:
                break
            row = self._enter(request, budget)
            batch.append((request, row))
            budget -= len(row.token_ids)
        if batch:
            self._advance(batch)
        self._dismiss()

    def fail(self, error: Exception) -> None:
        """Fail every request of the model, queued ones included."""
        queued = [self._submitted.popleft() for _ in range(len(self._submitted))]
        for request in [*self._running, *queued]:
            if request.answer.set_running_or_notify_cancel():
                request.answer.set_exception(error)
            if request.cache is not None:
                self.pool.give_back(request.cache)
        self._running.clear()

    def _dismiss(self) -> None:
        """Answer finished requests, and drop cancelled ones."""
        for request in [each for each in self._running if each.reply is not None or each.answer.cancelled()]:
            self._running.remove(request)
            if request.cache is not None:
                self.pool.give_back(request.cache)
            if request.answer.set_running_or_notify_cancel():
                request.answer.set_result(cast("GenerationReply", request.reply))

    def _enter(self, request: GenerationRequest, budget: int) -> BatchRow:
        """Return a request's tokens in a pass: uncached ones, then guesses."""
        assert request.cache is not None
        held = len(request.cache.token_ids)
        prompt_length = len(request.prompt_ids)
        # What is known and not in the cache: the rest of the prompt, or the last token.
        pending = request.prompt_ids[held : held + budget] or request.generated[held - prompt_length :]
        draft: list[int] = []
        if request.generated:
            left = request.parameters.max_tokens - len(request.generated)
            wanted = min(request.draft_length, self.max_draft_tokens, left - 1, budget - 1)
            draft = self._drafter.propose(request.generated, wanted)
        return BatchRow(request.cache, pending + draft, 1 + len(draft))

    def _admit(self) -> GenerationRequest | None:
        while self._submitted and len(self._running) < self.max_running:
            if self._running and not self.pool.has_room():
                break
            request = self._submitted.popleft()
            if not request.answer.cancelled():
                self._running.append(request)
                name = self.loaded.name
                shape = self.loaded.cache_shape
                request.cache = self.pool.lease(name, shape, request.prompt_ids, request.episode_id)
                request.cached_tokens = len(request.cache.token_ids)
                return request
        return None

    def _advance(self, batch: Sequence[tuple[GenerationRequest, BatchRow]]) -> None:
        """Compute the rows and take their tokens.

        The rest of a prompt that is too long comes with the next pass.
        """
        logits = self.loaded.forward([row for _, row in batch])  # (wanted tokens of all rows, vocabulary)
        parameters = []
        uniforms = []
        for request, row in batch:
            parameters += [request.parameters] * row.logit_count
            uniforms += request.uniforms(row.logit_count)
        choice = choose_tokens(logits, parameters, uniforms)
        drawn = iter(map(DrawnToken, choice.tokens, choice.is_close, uniforms))
        for request, row in batch:
            chosen = list(islice(drawn, row.logit_count))
            if len(row.cache.token_ids) >= len(request.prompt_ids):
                self._take(request, row, chosen)

    def _take(self, request: GenerationRequest, row: BatchRow, chosen: Sequence[DrawnToken]) -> None:
        """Take a row's tokens, through the first wrong guess."""
        draft = row.token_ids[len(row.token_ids) + 1 - row.logit_count :]
        accepted = 0
        for drawn, guess in zip_longest(chosen, draft):
            token = self._settle(request, drawn.uniform) if drawn.is_close else drawn.token
            self._drafter.learn(request.generated, token)
            request.generated.append(token)
            self._finish_if_done(request, token)
            if request.reply is not None or token != guess:
                break
            accepted += 1
        # The last token is the next pass's input; wrong guesses leave the cache.
        row.cache.truncate(len(request.prompt_ids) + len(request.generated) - 1)
        if draft:
            request.draft_length = next_draft_length(len(draft), accepted, self.max_draft_tokens)

    def _settle(self, request: GenerationRequest, uniform: float) -> int:
        """Return the next token as a pass of this conversation alone would.

        Logits move in their last bits with the rows and drafts of a pass. Where that could decide, it must not: a
        reply is the same whoever else is served.
        """
        alone = BatchRow(KeyValueCache(self.loaded.cache_shape), request.prompt_ids + request.generated)
        return choose_tokens(self.loaded.forward([alone]), [request.parameters], [uniform]).tokens[0]

    def _finish_if_done(self, request: GenerationRequest, token: int) -> None:
        parameters = request.parameters
        generated = request.generated
        text = None
        reason = "stop"
        written = ""
        if parameters.stop:
            written = self._decode(generated)
        if token in self.loaded.end_ids and not parameters.ignores_end:
            text = self._decode(generated[:-1])
        elif stops := [written.find(stop) for stop in parameters.stop if stop in written]:
            text = written[: min(stops)]
        elif len(generated) >= parameters.max_tokens:
            text = self._decode(generated)
            reason = "length"
        if text is not None:
            prompt_tokens = len(request.prompt_ids)
            request.reply = GenerationReply(text, reason, prompt_tokens, request.cached_tokens, len(generated))

    def _decode(self, token_ids: list[int]) -> str:
        return str(self.loaded.tokenizer.decode(token_ids, skip_special_tokens=True))
