"""Episodes of a scripted policy: a family's teacher plays the environment that a trainer would."""

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

from carryover.tasks.agent.protocol import CompletionRequest, Message
from carryover.tasks.environment.block_environment import BlockEnvironment, ChatMessage
from carryover.tasks.families.choose import choose_family

BUCKETS = {"knapsack": "small", "log_triage": "calm", "map_exploration": "near"}
Reply = Callable[[list[ChatMessage]], str]


class Played(NamedTuple):
    messages: list[ChatMessage]
    rewards: list[float]


def open_teacher(family: str, contract: str, seed: int) -> Any:
    """Return the scripted teacher of a seed's instance."""
    instance = choose_family(family).sample(BUCKETS[family], seed)
    teacher: Any = choose_family(family).open_teacher(BUCKETS[family], contract)
    return teacher.open_for(instance.instance_id) if hasattr(teacher, "open_for") else teacher


def open_policy(family: str, contract: str, seed: int) -> Reply:
    """Return the teacher of a contract as a function of the conversation."""
    player = open_teacher(family, contract, seed)

    def reply(messages: list[ChatMessage]) -> str:
        told = tuple(Message.model_validate(message) for message in messages)
        return asyncio.run(player.complete(CompletionRequest(told, seed=3, episode_id="any"))).text

    return reply


def play(environment: BlockEnvironment, reply: Reply, seed: int) -> Played:
    """Play one episode on the plain environment."""
    messages = environment.reset(seed=seed)
    rewards = []
    while not environment.is_over:
        text = reply(messages)
        step = environment.step(text)
        rewards.append(step.reward)
        messages.append({"role": "assistant", "content": text})
        if step.observation is not None:
            messages.append({"role": "user", "content": step.observation})
    return Played(messages, rewards)
