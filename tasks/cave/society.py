"""Agents that share objects: handed over, or on one runtime.

An object goes from interpreter to interpreter as data in shared memory. It passes through no prompt, and nothing of it
is unpickled.
"""

from collections.abc import AsyncIterator, Callable, Sequence

from carryover.tasks.agent.events import Answer, Event, Observed
from carryover.tasks.agent.runtime_stream import RuntimeStream
from carryover.tasks.cave.agent import Agent
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
