"""Models and agents that blocks ask: `llm(text)` and `helper.ask(question)`.

A block's call runs at once and returns, so that loops and branches can use what came back (arXiv 2601.01569, E.1;
with a long text as a variable this is a recursive language model, arXiv 2512.24601).
"""

from collections.abc import Callable, Coroutine
from typing import Any

from carryover.tasks.agent.condition import decoding_seed
from carryover.tasks.agent.protocol import CompletionRequest, Message, ModelClient
from carryover.tasks.cave.agent import Agent
from carryover.tasks.cave.allowance import present_allowance
from carryover.tasks.runtime.inside.tools import ToolInvocationException, ToolRuntimeException
from carryover.tasks.traces.vocabulary import FinishReason


def language_model(client: ModelClient, *, name: str = "llm") -> Callable[[str], Coroutine[Any, Any, str]]:
    """Return a function that asks a model once, for injection.

    `name` seeds the sampling, with the number of the call.
    """
    count = 0

    async def llm(text: str) -> str:
        """Return a language model's reply to a text alone."""
        nonlocal count
        allowance = present_allowance()
        request = CompletionRequest((Message(role="user", content=text),), decoding_seed(name, count, 0), name)
        count += 1
        completion = await allowance.ask(client.complete(request))
        allowance.prompt_tokens += completion.prompt_tokens
        allowance.completion_tokens += completion.completion_tokens
        return completion.text

    return llm


class Helper:
    """An agent that another agent's blocks ask.

    It has an interpreter of its own, which keeps what it is given.
    """

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    async def ask(self, question: str, give: dict[str, Any] | None = None, take: str | None = None) -> Any:
        """Return its answer as text.

        `give` binds variables in its interpreter first, by name. `take` names one of its variables, whose value is
        returned in place of the text.
        """
        allowance = present_allowance()
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


def employ(director: Agent, helpers: dict[str, Agent]) -> None:
    """Give an agent others to ask in its blocks, by name.

    Raises:
        ValueError: A helper is a peer on the director's interpreter, which is busy while a block runs.
    """
    for name, helper in helpers.items():
        if helper.runtime is director.runtime:
            raise ValueError(f"{name} works on the director's own interpreter; use answer_in_turns for peers")
        director.inject(name, Helper(helper), by="reference", allow=("ask",), description=helper.instructions)
