"""The dual-stream loop: text to the model, objects in the interpreter (arXiv 2601.01569, algorithm 1)."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass, field

from carryover.tasks.agent.condition import decoding_seed
from carryover.tasks.agent.protocol import (
    Completion,
    CompletionRequest,
    ContextOverflowError,
    ModelClient,
    ModelError,
    ReplyNotKeptError,
)
from carryover.tasks.cave.agent_spec import AgentSpec
from carryover.tasks.cave.conversation import Entry, SemanticStream
from carryover.tasks.cave.events import Answer, Asked, Compacted, Event, Observed, Replied
from carryover.tasks.cave.prompting import fill, new_objects, observation, system_prompt
from carryover.tasks.cave.reply import ReadReply, read_reply
from carryover.tasks.cave.runtime_stream import RuntimeStream
from carryover.tasks.runtime.engine import StateLostError
from carryover.tasks.runtime.lifetime import lifetime_of
from carryover.tasks.services.text import encodable
from carryover.tasks.traces.vocabulary import FinishReason

_COMPACTED_SHARE = 0.5
"""Share of the limit that compaction aims at, so that it is rare and an endpoint's prompt cache lives long."""
_SUMMARY_WORDS = 400
_LISTED_VARIABLES = 200
RUNTIME_FAULTS = (OSError, EOFError, StateLostError)
"""Errors of an interpreter that is gone."""

Deferred = Callable[[RuntimeStream], Awaitable[str]]
"""Work that a block asked for and that needs the interpreter idle; returns what the model is told."""
DEFERRED: ContextVar[list[Deferred]] = ContextVar("deferred")
"""Filled by host functions while a block runs; done in order when it has ended."""


@dataclass
class LoopState:
    """State of an agent beside its two streams."""

    name: str
    """Names the agent, and with the number of the reply seeds its sampling."""
    reply_count: int = 0
    told_count: int = 0
    """Injected objects that the model was told of."""
    is_running: bool = False
    """Whether the last reply's block has begun and is not observed yet."""
    notes: list[str] = field(default_factory=list)
    """Notices for the model, due with the next user message."""


def stop_of(error: Exception) -> tuple[FinishReason, str]:
    """Return why a model did not reply: the stop reason, and the text of the answer."""
    if isinstance(error, TimeoutError):
        return FinishReason.TIMEOUT, fill("stopped_timeout")
    if isinstance(error, ContextOverflowError):
        return FinishReason.CONTEXT_LENGTH, fill("stopped_context_length")
    return FinishReason.ERROR, fill("stopped_error", error=error)


class _StoppedError(Exception):
    """A budget is spent, or nothing answers."""

    def __init__(self, stop: FinishReason, text: str) -> None:
        super().__init__(text)
        self.stop = stop


@dataclass
class DualStreamLoop:
    """Answers a question: asks the model, runs its blocks, and ends with the first reply that holds none."""

    client: ModelClient
    text: SemanticStream
    runtime: RuntimeStream
    loop_state: LoopState
    spec: AgentSpec
    instructions: str
    """Further lines of the system message."""
    skills: dict[str, str]
    """Descriptions of the skills by name."""
    checkpoint: Callable[[], None]
    """Called when the state is worth saving: before a block runs, and after it was observed."""

    def __post_init__(self) -> None:
        self._keeps_names = lifetime_of(self.runtime.interpreter.contract).keeps != "nothing"
        self._prompt_tokens = self._completion_tokens = self._steps = 0

    async def play(self, question: str | None) -> AsyncIterator[Event]:
        """Yield what happens until the question is answered or a budget is spent; the last event is the `Answer`.

        None goes on with a question that was left unanswered, and raises `ValueError` where none was.
        """
        if question is None and (not self.text.entries or self.text.entries[-1].kind == "reply"):
            raise ValueError("no question is unanswered; ask one")
        deadline = asyncio.get_running_loop().time() + self.spec.timeout_seconds
        try:
            if question is not None:
                yield self._ask(question)
            while True:
                if self.text.token_count() > self._limit:
                    yield await self._compact(deadline)
                try:
                    replied = await self._reply(deadline)
                except _StoppedError as stopped:
                    if stopped.stop is not FinishReason.CONTEXT_LENGTH or not self.text.older_half():
                        raise
                    yield await self._compact(deadline)  # the endpoint's window is smaller than the spec says
                    continue
                yield replied
                observed = await self._observe(read_reply(replied.completion.text), replied.completion)
                if observed is None:
                    yield self._end(FinishReason.ANSWER, replied.completion.text.strip())
                    return
                yield observed
        except _StoppedError as stopped:
            yield self._end(stopped.stop, str(stopped))
        except RUNTIME_FAULTS as error:
            text = fill("stopped_error", error=f"the runtime failed: {type(error).__name__}: {error}")
            yield self._end(FinishReason.ERROR, text)

    @property
    def _limit(self) -> int:
        return round(self.spec.compact_at * self.spec.context_window)

    def _ask(self, question: str) -> Asked:
        injected = self.runtime.interpreter.injected
        if not self.text.entries:
            self.text.add(
                "system", system_prompt(injected, self.skills, self.instructions, keeps_names=self._keeps_names)
            )
            self.loop_state.told_count = len(injected)
        self.text.add("question", "\n\n".join(part for part in (*self._untold(), question) if part))
        self.text.question = question
        self.checkpoint()
        return Asked(self.text.entries[-1].text)

    def _untold(self) -> list[str]:
        """Return the notes and the entries of new objects, and count them as told."""
        injected = self.runtime.interpreter.injected
        notes, self.loop_state.notes = self.loop_state.notes, []
        entries = new_objects(injected[self.loop_state.told_count :])
        self.loop_state.told_count = len(injected)
        return [*(fill("notice", text=note) for note in notes), *([entries] if entries else [])]

    async def _reply(self, deadline: float) -> Replied:
        spent = self._prompt_tokens + self._completion_tokens
        if self._steps >= self.spec.max_steps:
            raise _StoppedError(FinishReason.MAX_STEPS, fill("stopped_max_steps", steps=self._steps))
        if self.spec.max_tokens is not None and spent >= self.spec.max_tokens:
            raise _StoppedError(FinishReason.MAX_TOKENS, fill("stopped_max_tokens", tokens=spent))
        if self.text.token_count() >= self.spec.context_window:
            raise _StoppedError(FinishReason.CONTEXT_LENGTH, fill("stopped_context_length"))
        seed = decoding_seed(self.loop_state.name, self.loop_state.reply_count, 0)
        if self.loop_state.notes:
            self.text.add("observation", "\n\n".join(self._untold()))
        completion = await self._complete(self.text, seed, deadline)
        self.text.calibrate(completion.prompt_tokens)
        self._steps += 1
        self.loop_state.reply_count += 1
        reply = read_reply(completion.text).reply
        self.text.add("reply", reply.kept_text)
        return Replied(reply, completion, seed)

    async def _complete(self, text: SemanticStream, seed: int, deadline: float) -> Completion:
        request = CompletionRequest(
            messages=text.messages(),
            seed=seed,
            episode_id=self.loop_state.name,
            temperature=self.spec.temperature,
            max_completion_tokens=self.spec.max_completion_tokens,
        )
        try:
            async with asyncio.timeout_at(deadline):
                completion = await self.client.complete(request)
        except (ModelError, ReplyNotKeptError, TimeoutError) as error:
            raise _StoppedError(*stop_of(error)) from error
        self._prompt_tokens += completion.prompt_tokens
        self._completion_tokens += completion.completion_tokens
        return completion._replace(text=encodable(completion.text))

    async def _observe(self, read: ReadReply, completion: Completion) -> Observed | None:
        """Run the reply's block and tell the model; None for a reply that ends the loop."""
        result, is_verified = None, False
        if completion.finish_reason != "stop":
            text = fill("cut_off", reason=completion.finish_reason)
        elif read.is_unclosed:
            text = fill("unclosed")
        elif read.reply.code is None:
            self.checkpoint()
            return None
        else:
            deferred: list[Deferred] = []
            DEFERRED.set(deferred)
            self.loop_state.is_running = True
            try:
                self.checkpoint()
                result, is_verified = await self.runtime.run(read.reply.code)
            finally:
                self.loop_state.is_running = False
            told = [await work(self.runtime) for work in deferred]
            text = observation(result, read.reply.block_count, [*told, *self._untold()], keeps_names=self._keeps_names)
        self.text.add("observation", text)
        self.checkpoint()
        return Observed(text, result, is_verified)

    async def _compact(self, deadline: float) -> Compacted:
        """Shorten the conversation: first outputs of old observations, then a summary of its older half by the model.

        Observation first, because its objects are still in the interpreter (arXiv 2601.01569: the text is only a view
        of the state). The share of the window is the caller's; the two tiers follow the paper's repository.
        """
        before = self.text.token_count()
        aim = round(_COMPACTED_SHARE * min(before, self._limit))
        prompt_tokens, completion_tokens = self._prompt_tokens, self._completion_tokens
        removed = self.text.remove_old_outputs(self.spec.kept_observations)
        is_summarized = False
        while self.text.token_count() > aim and (older := self.text.older_half()):
            is_summarized = True
            self.text.replace_oldest(len(older), await self._summarize(older, deadline))
        self.checkpoint()
        return Compacted(
            before,
            self.text.token_count(),
            removed_output_count=removed,
            is_summarized=is_summarized,
            prompt_tokens=self._prompt_tokens - prompt_tokens,
            completion_tokens=self._completion_tokens - completion_tokens,
        )

    async def _summarize(self, older: list[Entry], deadline: float) -> str:
        request = SemanticStream([*self.text.entries[:1], *older])
        request.add("question", fill("summary_request", word_limit=_SUMMARY_WORDS))
        seed = decoding_seed(f"{self.loop_state.name}/summary", self.loop_state.reply_count, 0)
        try:
            summary = (await self._complete(request, seed, deadline)).text.strip()
        except _StoppedError as stopped:
            if stopped.stop is FinishReason.TIMEOUT:
                raise
            summary = fill("no_summary")
        types = self.runtime.idle.variables()
        listed = "\n".join(f"{name}: {kind}" for name, kind in list(types.items())[:_LISTED_VARIABLES]) or "(nothing)"
        if len(types) > _LISTED_VARIABLES:
            listed += f"\n... and {len(types) - _LISTED_VARIABLES} more names"
        return fill("summary", summary=summary, variables=listed, question=self.text.question)

    def _end(self, stop: FinishReason, text: str) -> Answer:
        return Answer(
            text,
            stop=stop,
            step_count=self._steps,
            prompt_tokens=self._prompt_tokens,
            completion_tokens=self._completion_tokens,
        )
