"""Agents that share objects: a director, and peers on one runtime.

An object goes from interpreter to interpreter as data in shared memory. It passes through no prompt, and nothing of it
is unpickled.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence

from carryover.tasks.agent.events import Answer, Event, Observed
from carryover.tasks.agent.runtime_stream import RuntimeStream
from carryover.tasks.cave.agent import Agent
from carryover.tasks.cave.prompting import fill
from carryover.tasks.cave.speaker import DEFERRED
from carryover.tasks.runtime.engine import BusyError
from carryover.tasks.runtime.inside.tools import ToolInvocationException
from carryover.tasks.runtime.objects import InjectionError, RetrievalError
from carryover.tasks.services.background import wait_for

TurnWatch = Callable[[Agent, Event], None]


def hand_over(name: str, source: Agent, target: Agent) -> None:
    """Copy a variable from one agent's interpreter to another's.

    Raises:
        RetrievalError: There is no such variable, or it holds what does not travel.
        InjectionError: It does not travel, e.g. an instance of a type that was not injected in both.
        BusyError: One of the two runs a block.
    """
    _pass_on(name, source.runtime, target.runtime)


def direct(director: Agent, others: Mapping[str, Agent]) -> None:
    """Give an agent the function `delegate`, which asks other agents.

    It injects variables there, asks, and retrieves results.

    What a block delegates happens in order when the block has ended, because an interpreter gives and takes objects
    between blocks only. The answers come with the block's observation; what was taken is bound in the next block.

    Args:
        director: The agent that delegates.
        others: The agents by the name that the director uses; each keeps its own interpreter and conversation.
    """

    def delegate(agent: str, question: str, give: list = [], take: list = []) -> str:  # noqa: B006 - shown in the prompt
        if agent not in others:
            raise ToolInvocationException(f"unknown agent {agent!r}; choose from {', '.join(others)}")

        async def work(runtime: RuntimeStream) -> str:
            return fill("delegated", name=agent, answer=await _delegate(runtime, others[agent], question, give, take))

        DEFERRED.get().append(work)
        return f"{agent} is asked when this block has ended."

    listed = "\n".join(f"- {name}: {other.instructions}" for name, other in others.items())
    delegate.__doc__ = (
        "Ask another agent, which has an interpreter of its own, when this block has ended.\n\n"
        "`give` names variables that are bound there first; `take` names variables of it that are bound here "
        f"afterwards. The agents:\n{listed}"
    )
    director.inject("delegate", delegate)


async def _delegate(runtime: RuntimeStream, other: Agent, question: str, give: list[str], take: list[str]) -> str:
    """Return the director's reply: the answer and the taken names."""
    try:
        for name in map(str, give):
            _pass_on(name, runtime, other.runtime)
        answer = await other.ask_async(question)
        lines = [answer.text]
        for name in map(str, take):
            _pass_on(name, other.runtime, runtime)
    except (BusyError, InjectionError, RetrievalError) as error:
        return f"An object could not be passed on: {error}"
    if take:
        lines.append(f"Bound here: {', '.join(map(str, take))}.")
    return "\n".join(lines)


def _pass_on(name: str, source: RuntimeStream, target: RuntimeStream) -> None:
    target.idle.inject(name, source.idle.retrieve(name))


async def take_turns(questions: Sequence[tuple[Agent, str]]) -> AsyncIterator[tuple[Agent, Event]]:
    """Yield the events of agents that take turns, one step a round.

    A step is a reply and what its block did, so peers on one interpreter change it in a defined order. The order
    depends on nothing but the arguments: not on how fast a model answers. An agent with two questions begins the second
    when it has answered the first.
    """
    playing = [(agent, agent.play(question)) for agent, question in questions]
    while playing:
        done = []
        seen: set[int] = set()
        for player in playing:
            agent, events = player
            if id(agent) in seen:  # its earlier question comes first
                continue
            seen.add(id(agent))
            async for event in events:
                yield agent, event
                if isinstance(event, Answer):  # the last: the loop ends
                    done.append(player)
                if isinstance(event, Observed):
                    break
        playing = [player for player in playing if player not in done]


def answer_in_turns(questions: Sequence[tuple[Agent, str]], watch: TurnWatch | None = None) -> list[Answer]:
    """Return the answers of agents that take turns; see `take_turns`."""

    async def play() -> list[Answer]:
        answers: dict[int, list[Answer]] = {}
        async for agent, event in take_turns(questions):
            if watch is not None:
                watch(agent, event)
            if isinstance(event, Answer):
                answers.setdefault(id(agent), []).append(event)
        return [answers[id(agent)].pop(0) for agent, _ in questions]

    return wait_for(play())
