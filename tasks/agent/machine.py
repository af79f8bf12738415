"""The episode machine: one loop for every agent (arXiv 2603.01209, section 3).

Read `EpisodeMachine` from top to bottom. A `Speaker` says what the model is shown and what a reply does; budgets,
faults, stop reasons and the order of events are the machine's.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass

from carryover.tasks.agent.events import Answer, Compacted, Event, Observed, Refusal, Replied, Unanswered
from carryover.tasks.agent.protocol import Completion, CompletionRequest, ModelClient, ModelError, ReplyNotKeptError
from carryover.tasks.agent.reply import Reply, without_thought
from carryover.tasks.agent.speaker import Speaker
from carryover.tasks.agent.stops import (
    RUNTIME_FAULTS,
    Stopped,
    stop_of_model_error,
    stop_of_runtime_fault,
)
from carryover.tasks.services.text import encodable
from carryover.tasks.traces.vocabulary import ErrorKind, FinishReason


@dataclass(frozen=True)
class Limits:
    """Budgets of an episode, or of one question of a conversation."""

    replies: int
    """Model replies."""
    replies_spent: FinishReason
    """Stop reason after the last of them."""
    tokens: int | None
    """Prompt and completion tokens of all replies together; None for no limit."""
    seconds: float
    """Wall-clock time, checked around model calls: a running block ends by its own limit."""
    context_tokens: int | None = None
    """Tokens that a conversation and the reply to it may have; None leaves it to the endpoint."""
    shorten_above: int | None = None
    """Tokens above which the conversation is shortened."""


class EpisodeMachine:
    """Asks the model and lets its replies act until the episode ends."""

    def __init__(self, client: ModelClient, speaker: Speaker, limits: Limits) -> None:
        self._client = client
        self._speaker = speaker
        self._limits = limits
        self._deadline = 0.0
        self._reply_count = 0
        self._prompt_tokens = 0
        self._completion_tokens = 0
        self._answer: Answer | None = None
        self.unkept: ReplyNotKeptError | None = None
        """A paid reply that could not be kept: the run must stop once the episode has landed."""

    @property
    def answer(self) -> Answer:
        """The end of the episode, once it has been played."""
        assert self._answer is not None, "the episode is not over"
        return self._answer

    async def play(self) -> AsyncIterator[Event]:
        """Yield events until the episode ends; the last is the `Answer`.

        Errors of agent code, of tools, of the model and of the runtime are observations or ends, never exceptions.
        """
        self._deadline = asyncio.get_running_loop().time() + self._limits.seconds
        try:
            asked = self._speaker.ask()
            if asked is not None:
                yield asked
            while True:
                self._check_budgets()
                if self._is_too_long():
                    yield await self._shorten()
                try:
                    replied = await self._ask()
                except Stopped as stopped:
                    if not self._can_recover(stopped):
                        raise
                    # No reply was counted: the same one is asked for again.
                    yield await self._shorten()
                    continue
                yield replied
                yield await self._respond(replied)
                if self._speaker.is_over():
                    raise Stopped(FinishReason.FINISH_TOOL)
        except Stopped as stopped:
            end = stopped
        except RUNTIME_FAULTS as fault:
            end = stop_of_runtime_fault(fault)
        if end.last_event is not None:
            yield end.last_event
        self._answer = self._end(end)
        yield self._answer

    def _check_budgets(self) -> None:
        """Raise `Stopped` where no further reply may be asked for."""
        if self._is_late():
            raise Stopped(FinishReason.TIMEOUT)
        if self._is_last_reply():
            raise Stopped(self._limits.replies_spent, steps=self._reply_count)
        spent = self._prompt_tokens + self._completion_tokens
        if self._limits.tokens is not None and spent >= self._limits.tokens:
            raise Stopped(FinishReason.MAX_TOKENS, tokens=spent)

    def _is_late(self) -> bool:
        return asyncio.get_running_loop().time() >= self._deadline

    def _is_last_reply(self) -> bool:
        return self._reply_count >= self._limits.replies

    def _is_too_long(self) -> bool:
        limit = self._limits.shorten_above
        return limit is not None and self._speaker.token_count() > limit

    def _can_recover(self, stopped: Stopped) -> bool:
        """Tell whether a shorter conversation may fit the endpoint's smaller window."""
        return stopped.reason is FinishReason.CONTEXT_LENGTH and self._speaker.can_shorten()

    async def _shorten(self) -> Compacted:
        return await self._speaker.shorten(self._complete)

    async def _ask(self) -> Replied:
        """Return the model's next reply; raise `Stopped` without one."""
        limit = self._limits.context_tokens
        if limit is not None and self._speaker.token_count() >= limit:
            raise Stopped(FinishReason.CONTEXT_LENGTH, error="the conversation is longer than the context window")
        request = self._speaker.request()
        completion = await self._complete(request)
        reply = self._speaker.read(completion)
        self._speaker.keep(reply, completion)
        self._reply_count += 1
        return Replied(reply, completion, request.seed)

    async def _complete(self, request: CompletionRequest) -> Completion:
        """Ask the model once, within the time left, and charge tokens."""
        started = time.perf_counter()
        try:
            async with asyncio.timeout_at(self._deadline):
                completion = await self._client.complete(request)
        except (ModelError, TimeoutError) as error:
            unanswered = Unanswered(error, time.perf_counter() - started)
            raise stop_of_model_error(error, unanswered) from error
        except ReplyNotKeptError as error:
            self.unkept = error
            # It was paid for, so it is counted and recorded before the run stops.
            completion = self._charged(error.completion)
            replied = Replied(self._speaker.read(completion), completion, request.seed)
            raise Stopped(FinishReason.ERROR, last_event=replied, error=error) from error
        return self._charged(completion)

    def _charged(self, completion: Completion) -> Completion:
        """Count a reply's tokens, and return it with encodable text."""
        self._prompt_tokens += completion.prompt_tokens
        self._completion_tokens += completion.completion_tokens
        return completion._replace(text=encodable(completion.text))

    async def _respond(self, replied: Replied) -> Observed:
        """Run a reply and answer the model; raise `Stopped` for an answer."""
        reply = replied.reply
        completion = replied.completion
        refusal = self._refusal(reply, completion)
        if refusal is not None:
            text = None if self._is_final() else self._speaker.refuse(refusal.text)
            return Observed(text, refusal=refusal)
        if reply.is_idle:
            complaint = await self._speaker.review()
            if complaint is None:
                raise Stopped(FinishReason.ANSWER, reply=without_thought(completion.text))
            refused = Refusal(ErrorKind.PROTOCOL, "WrongResult", complaint)
            return Observed(self._speaker.refuse(complaint), refusal=refused)
        acted = await self._speaker.act(reply)
        # What the block itself asked of models counts against the same budget.
        prompt_tokens, completion_tokens = self._speaker.take_tokens()
        self._prompt_tokens += prompt_tokens
        self._completion_tokens += completion_tokens
        is_over = self._speaker.is_over() or self._is_final()
        text = None if is_over else self._speaker.observe(reply, acted)
        return Observed(text, acted, has_note=reply.code is not None and reply.block_count > 1)

    def _refusal(self, reply: Reply, completion: Completion) -> Refusal | None:
        """Return why nothing of a reply runs, if so."""
        is_cut_off = completion.finish_reason != "stop" and not reply.calls
        if is_cut_off:
            text = self._speaker.fill("cut_off", reason=completion.finish_reason)
            return Refusal(ErrorKind.MODEL, "ReplyCutOff", text)
        if reply.is_unclosed:
            return Refusal(ErrorKind.PROTOCOL, "UnclosedBlock", self._speaker.fill("unclosed"))
        if reply.is_idle and not self._speaker.idle_ends:
            return Refusal(ErrorKind.PROTOCOL, "NoCodeBlock", self._speaker.fill("no_block"))
        return None

    def _is_final(self) -> bool:
        """Tell whether no request follows, so that no message is written."""
        return not self._speaker.goes_on and (self._is_last_reply() or self._is_late())

    def _end(self, end: Stopped) -> Answer:
        if end.reason is FinishReason.ANSWER:
            text = str(end.values["reply"])
        else:
            text = self._speaker.fill(f"stopped_{end.reason}", **end.values)
        return Answer(
            text,
            stop=end.reason,
            step_count=self._reply_count,
            prompt_tokens=self._prompt_tokens,
            completion_tokens=self._completion_tokens,
        )
