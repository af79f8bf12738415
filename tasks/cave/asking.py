"""Models and agents that blocks ask: `llm(text)` and `helper.ask(question)`, bounded by the question that they serve.

A block's call runs at once and returns, so that loops and branches can use what came back (arXiv 2601.01569, E.1;
with a long text as a variable this is a recursive language model, arXiv 2512.24601).
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from carryover.tasks.agent.condition import decoding_seed
from carryover.tasks.agent.protocol import CompletionRequest, Message, ModelClient
from carryover.tasks.agent.runtime_stream import RuntimeStream
from carryover.tasks.runtime.inside.tools import ToolInvocationException, ToolRuntimeException
from carryover.tasks.traces.vocabulary import FinishReason

if TYPE_CHECKING:
    from carryover.tasks.cave.agent import Agent

_DEPTH_LIMIT = 4
"""Questions that may be under way within each other."""
_CALL_LIMIT = 200
"""Questions that the blocks of one question may ask."""


class Allowance:
    """What one question may still spend on questions of its blocks."""

    def __init__(self, runtime: RuntimeStream, seconds: float, tokens: int | None) -> None:
        """Open the allowance of a question, within that of the question whose block asks it."""
        outer = ALLOWANCE.get()
        self.depth = 0 if outer is None else outer.depth + 1
        self.deadline = asyncio.get_running_loop().time() + seconds
        if outer is not None:
            self.deadline = min(self.deadline, outer.deadline)
        self.prompt_tokens = 0
        self.completion_tokens = 0
        self._busy = frozenset((id(runtime),)) if outer is None else outer._busy | {id(runtime)}
        self._token_limit = tokens
        self._call_count = 0
        self._running: set[asyncio.Task[Any]] = set()

    def is_busy(self, runtime: RuntimeStream) -> bool:
        """Tell whether a block on this interpreter waits for the answer."""
        return id(runtime) in self._busy

    def take_tokens(self) -> tuple[int, int]:
        """Return the prompt and completion tokens that were spent since this was asked last."""
        spent = self.prompt_tokens, self.completion_tokens
        self.prompt_tokens = 0
        self.completion_tokens = 0
        return spent

    def cancel(self) -> None:
        """Cancel what is being asked: its question is over."""
        for task in self._running:
            task.cancel()

    async def ask(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Return what a question of a block brings, in the time that is left.

        Raises:
            ToolRuntimeException: The question's time, tokens or number of calls are spent.
        """
        task = asyncio.ensure_future(work)
        self._running.add(task)
        try:
            self._require()
            async with asyncio.timeout_at(self.deadline):
                return await task
        except TimeoutError as error:
            raise ToolRuntimeException("the question's time is spent") from error
        finally:
            task.cancel()
            self._running.discard(task)

    def _require(self) -> None:
        self._call_count += 1
        if self._call_count > _CALL_LIMIT:
            raise ToolRuntimeException(f"{_CALL_LIMIT} questions may be asked within a question")
        spent = self.prompt_tokens + self.completion_tokens
        if self._token_limit is not None and spent >= self._token_limit:
            raise ToolRuntimeException(f"the {self._token_limit} tokens of the question are spent")
        if self.depth >= _DEPTH_LIMIT:
            raise ToolRuntimeException(f"questions may lie {_DEPTH_LIMIT} deep within each other")


ALLOWANCE: ContextVar[Allowance | None] = ContextVar("allowance", default=None)
"""Of the question whose block runs."""


def _allowance() -> Allowance:
    allowance = ALLOWANCE.get()
    if allowance is None:
        raise ToolInvocationException("only a running block can ask")
    return allowance


def language_model(client: ModelClient, *, name: str = "llm") -> Callable[[str], Coroutine[Any, Any, str]]:
    """Return a function that asks a model once, without tools; inject it under a name such as `llm`.

    `name` seeds the sampling, with the number of the call.
    """
    count = 0

    async def llm(text: str) -> str:
        """Return a language model's reply to a text. It sees this text alone."""
        nonlocal count
        allowance = _allowance()
        request = CompletionRequest((Message(role="user", content=text),), decoding_seed(name, count, 0), name)
        count += 1
        completion = await allowance.ask(client.complete(request))
        allowance.prompt_tokens += completion.prompt_tokens
        allowance.completion_tokens += completion.completion_tokens
        return completion.text

    return llm


class Helper:
    """An agent that blocks of another agent ask. It has an interpreter of its own, which keeps what it is given."""

    def __init__(self, agent: "Agent") -> None:
        self._agent = agent

    async def ask(self, question: str, give: dict[str, Any] | None = None, take: str | None = None) -> Any:
        """Return its answer as text.

        `give` binds variables in its interpreter first, by name. `take` names one of its variables, whose value is
        returned in place of the text.
        """
        allowance = _allowance()
        agent = self._agent
        if allowance.is_busy(agent.runtime):
            raise ToolInvocationException(f"{agent.loop_state.name} waits for this block; ask another agent")
        for name, value in (give or {}).items():
            agent.inject(name, value)
        answer = await allowance.ask(agent.answer(question))
        allowance.prompt_tokens += answer.prompt_tokens
        allowance.completion_tokens += answer.completion_tokens
        if answer.stop is not FinishReason.ANSWER:
            raise ToolRuntimeException(f"{agent.loop_state.name} gave no answer: {answer.text}")
        if take is not None:
            return agent.retrieve(take)
        return answer.text


def employ(director: "Agent", helpers: dict[str, "Agent"]) -> None:
    """Give an agent others to ask in its blocks, each under its name: `reply = name.ask("...")`.

    Raises:
        ValueError: A helper is a peer on the director's interpreter, which is busy while a block runs.
    """
    for name, helper in helpers.items():
        if helper.runtime is director.runtime:
            raise ValueError(f"{name} works on the director's own interpreter; use answer_in_turns for peers")
        director.inject(name, Helper(helper), by="reference", allow=("ask",), description=helper.instructions)
