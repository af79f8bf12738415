"""CaveAgent's speaker: text to the model, objects in the interpreter."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from carryover.tasks.agent.condition import decoding_seed
from carryover.tasks.agent.events import Acted, Asked, Compacted
from carryover.tasks.agent.machine import Limits
from carryover.tasks.agent.protocol import Completion, CompletionRequest
from carryover.tasks.agent.reply import PYTHON_FENCE, Reply, read_reply
from carryover.tasks.agent.runtime_stream import Posted, RuntimeStream
from carryover.tasks.agent.speaker import Complete, Speaker
from carryover.tasks.agent.stops import Stopped
from carryover.tasks.cave.agent_spec import AgentSpec
from carryover.tasks.cave.allowance import ALLOWANCE, Allowance
from carryover.tasks.cave.conversation import Entry, SemanticStream
from carryover.tasks.cave.prompting import fill, new_objects, observation, system_prompt
from carryover.tasks.cave.returns import Expected, WrongResultError
from carryover.tasks.runtime.lifetime import lifetime_of, names_bound_by
from carryover.tasks.runtime.objects import RetrievalError
from carryover.tasks.traces.vocabulary import FinishReason

_COMPACTED_SHARE = 0.5
"""Share of the limit that compaction aims at, so that it is rare and an endpoint's prompt cache lives long."""
_SUMMARY_WORDS = 400
_LISTED_VARIABLES = 200

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
    heard_count: int = 0
    """Blocks on the interpreter whose new names the model was told of, its own included."""

    def copy(self, name: str) -> "LoopState":
        """Return the state of a branch, which goes on from here under its own name."""
        return replace(self, name=name, notes=list(self.notes))

    def resumed(self, notes: Sequence[str]) -> "LoopState":
        """Return the state for a new interpreter, on which no block has been heard yet."""
        return replace(self, is_running=False, heard_count=0, notes=[*self.notes, *notes])


class _Summary(NamedTuple):
    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass
class CaveSpeaker(Speaker):
    """Speaks for an interpreter that holds objects (arXiv 2601.01569, algorithm 1).

    The first reply without a block is the answer.
    """

    goes_on = True
    idle_ends = True

    question: str | None
    """None goes on with a question that was left unanswered."""
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
    expected: Expected | None = None
    """The result that an answer must have bound."""
    allowance: Allowance | None = None
    """What its blocks may spend on questions of their own."""
    on_text: Callable[[str], None] | None = None
    """Hears a reply's text as the endpoint writes it."""
    tells_surroundings: bool = False
    """Whether the system message says what a block has: files, network, time, libraries."""

    def __post_init__(self) -> None:
        self._keeps_names = lifetime_of(self.runtime.interpreter.contract).keeps != "nothing"
        self._told: list[str] = []
        """What deferred work has to tell with the next observation."""

    def ask(self) -> Asked | None:
        """Add the question, with the system message if it is the first.

        Raises:
            ValueError: No question is given, and none is unanswered.
        """
        if self.question is None:
            is_answered = not self.text.entries or self.text.entries[-1].kind == "reply"
            if is_answered:
                raise ValueError("no question is unanswered; ask one")
            return None
        if not self.text.entries:
            self._open()
        parts = [*self._untold(), self.question]
        if self.expected is not None:
            parts.append(self.expected.request())
        self.text.add("question", "\n\n".join(part for part in parts if part))
        self.text.question = self.question
        self.checkpoint()
        return Asked(self.text.entries[-1].text)

    def request(self) -> CompletionRequest:
        """Return the conversation, with notices that are due."""
        if self.loop_state.notes:
            self.text.add("observation", "\n\n".join(self._untold()))
        seed = decoding_seed(self.loop_state.name, self.loop_state.reply_count, 0)
        return self._request(self.text, seed)._replace(on_text=self.on_text)

    def read(self, completion: Completion) -> Reply:
        """Return the first Python block; other fences belong to an answer."""
        return read_reply(completion.text, PYTHON_FENCE)

    def keep(self, reply: Reply, completion: Completion) -> None:
        """Keep a reply up to the end of its first block."""
        self.text.calibrate(completion.prompt_tokens)
        self.loop_state.reply_count += 1
        self.text.add("reply", reply.kept_text)
        is_answer = reply.is_idle and not reply.is_unclosed and completion.finish_reason == "stop"
        if is_answer:
            self.checkpoint()

    async def act(self, reply: Reply) -> Acted:
        """Run the block, then what it has deferred to its end."""
        deferred: list[Deferred] = []
        DEFERRED.set(deferred)
        self.loop_state.is_running = True
        running = None
        try:
            self.checkpoint()
            outer = ALLOWANCE.set(self.allowance)
            try:
                running = await self.runtime.start(reply.code or "")
            finally:
                ALLOWANCE.reset(outer)
            acted = await asyncio.shield(running)
        except asyncio.CancelledError:
            self._leave(reply, running)
            raise
        except BaseException:
            self.loop_state.is_running = False
            raise
        self.loop_state.is_running = False
        self._post(acted)
        self._told = [await work(self.runtime) for work in deferred]
        return acted

    def _leave(self, reply: Reply, running: "asyncio.Future[Acted] | None") -> None:
        """Observe a cancelled question's block, so that it can be continued."""
        if self.allowance is not None:
            self.allowance.cancel()
        if running is None:
            self.loop_state.is_running = False
            self.refuse(fill("not_begun"))
            return

        def observe_late(done: "asyncio.Future[Acted]") -> None:
            self.loop_state.is_running = False
            error = done.exception()
            if error is None:
                self._post(done.result())
                self.observe(reply, done.result())
            else:
                self.refuse(fill("stopped_error", error=error))

        running.add_done_callback(observe_late)

    def _post(self, acted: Acted) -> None:
        """Tell the interpreter's other users which names a block bound."""
        bound = names_bound_by(acted.code, 0)
        names = tuple(sorted(bound.keys() & acted.result.active_globals))
        self.runtime.posted.append(Posted(self.loop_state.name, names))

    def take_tokens(self) -> tuple[int, int]:
        """Return the tokens that the last block's sub-questions spent."""
        if self.allowance is None:
            return 0, 0
        return self.allowance.take_tokens()

    async def review(self) -> str | None:
        """Return what is wrong with the requested result, if anything.

        Give up after so many attempts.
        """
        expected = self.expected
        if expected is None:
            return None
        try:
            value = await asyncio.to_thread(self.runtime.idle.retrieve, expected.name)
            expected.accept(value)
        except (RetrievalError, WrongResultError) as error:
            complaint = fill("wrong_result", name=expected.name, complaint=error)
        else:
            return None
        if expected.attempts_left == 0:
            raise Stopped(FinishReason.ERROR, error=complaint)
        expected.attempts_left -= 1
        return complaint

    def observe(self, reply: Reply, acted: Acted) -> str:
        """Tell what the block printed, and what else happened meanwhile."""
        extra = [*self._told, *self._untold()]
        text = observation(acted.result, reply.block_count, extra, keeps_names=self._keeps_names)
        return self.refuse(text)

    def refuse(self, text: str) -> str:
        """Add a user message that follows a reply."""
        self.text.add("observation", text)
        self.checkpoint()
        return text

    def fill(self, name: str, /, **values: object) -> str:
        """Return one of the prompts."""
        return fill(name, **values)

    def token_count(self) -> int:
        """Return the estimated tokens of the conversation."""
        return self.text.token_count()

    def can_shorten(self) -> bool:
        """Tell whether there is an older half to summarize."""
        return bool(self.text.older_half())

    async def shorten(self, complete: Complete) -> Compacted:
        """Shorten the conversation: old outputs first, then by a summary.

        Old outputs first, because their objects are still in the interpreter (arXiv 2601.01569: the text is only a view
        of the state). The share of the window is the caller's; the two tiers follow the paper's repository.
        """
        before = self.text.token_count()
        limit = compaction_limit(self.spec)
        aim = round(_COMPACTED_SHARE * min(before, limit))
        removed = self.text.remove_old_outputs(self.spec.kept_observations)
        summaries: list[_Summary] = []
        while self.text.token_count() > aim:
            older = self.text.older_half()
            if not older:
                break
            summary = await self._summarize(older, complete)
            self.text.replace_oldest(len(older), summary.text)
            summaries.append(summary)
        self.checkpoint()
        return Compacted(
            before,
            self.text.token_count(),
            removed_output_count=removed,
            is_summarized=bool(summaries),
            prompt_tokens=sum(summary.prompt_tokens for summary in summaries),
            completion_tokens=sum(summary.completion_tokens for summary in summaries),
        )

    def _open(self) -> None:
        interpreter = self.runtime.interpreter
        injected = interpreter.injected
        prompt = system_prompt(
            injected,
            self.skills,
            self.instructions,
            keeps_names=self._keeps_names,
            surroundings=interpreter.surroundings() if self.tells_surroundings else "",
        )
        self.text.add("system", prompt)
        self.loop_state.told_count = len(injected)

    def _untold(self) -> list[str]:
        """Return notes and entries of new objects, counted as shown."""
        injected = self.runtime.interpreter.injected
        notes = [*self.loop_state.notes, *self._heard()]
        lines = [fill("notice", text=note) for note in notes]
        self.loop_state.notes = []
        entries = new_objects(injected[self.loop_state.told_count :])
        self.loop_state.told_count = len(injected)
        if entries:
            lines.append(entries)
        return lines

    def _heard(self) -> list[str]:
        """Return notices on names that other users bound, once."""
        posted = self.runtime.posted[self.loop_state.heard_count :]
        self.loop_state.heard_count = len(self.runtime.posted)
        others = [one for one in posted if one.user != self.loop_state.name and one.names]
        return [fill("bound_by", name=one.user, names=", ".join(one.names)) for one in others]

    def _request(self, text: SemanticStream, seed: int) -> CompletionRequest:
        return CompletionRequest(
            messages=text.messages(),
            seed=seed,
            episode_id=self.loop_state.name,
            temperature=self.spec.temperature,
            max_completion_tokens=self.spec.max_completion_tokens,
        )

    async def _summarize(self, older: list[Entry], complete: Complete) -> _Summary:
        """Return the older half's replacement: summary, variables, question."""
        conversation = SemanticStream([*self.text.entries[:1], *older])
        conversation.add("question", fill("summary_request", word_limit=_SUMMARY_WORDS))
        seed = decoding_seed(f"{self.loop_state.name}/summary", self.loop_state.reply_count, 0)
        try:
            completion = await complete(self._request(conversation, seed))
            said = _Summary(completion.text.strip(), completion.prompt_tokens, completion.completion_tokens)
        except Stopped as stopped:
            if stopped.reason is FinishReason.TIMEOUT:
                raise
            said = _Summary(fill("no_summary"))
        text = fill("summary", summary=said.text, variables=self._listed_variables(), question=self.text.question)
        return said._replace(text=text)

    def _listed_variables(self) -> str:
        types = self.runtime.idle.variables()
        lines = [f"{name}: {kind}" for name, kind in list(types.items())[:_LISTED_VARIABLES]]
        if len(types) > _LISTED_VARIABLES:
            lines.append(f"... and {len(types) - _LISTED_VARIABLES} more names")
        return "\n".join(lines) or "(nothing)"


def compaction_limit(spec: AgentSpec) -> int:
    """Return the tokens above which a conversation is compacted."""
    return round(spec.compact_at * spec.context_window)


def question_limits(spec: AgentSpec, *, is_compacted: bool = True) -> Limits:
    """Return one question's budgets, without a window where nothing is compacted."""
    return Limits(
        replies=spec.max_steps,
        replies_spent=FinishReason.MAX_STEPS,
        tokens=spec.max_tokens,
        seconds=spec.timeout_seconds,
        context_tokens=spec.context_window if is_compacted else None,
        shorten_above=compaction_limit(spec) if is_compacted else None,
    )
