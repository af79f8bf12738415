"""The environment plays what the study's machine plays, and leaves nothing behind."""

import asyncio
import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from carryover.tasks.agent.episode import PlannedEpisode, run_episode
from carryover.tasks.agent.episode_spec import EpisodeSpec
from carryover.tasks.agent.protocol import CompletionRequest, Message
from carryover.tasks.environment.block_environment import BlockEnvironment
from carryover.tasks.families.choose import choose_family
from carryover.tasks.runtime.process.descendants import descendants
from tests.tasks.agent.playing import make_condition, make_context

FAMILIES = {"knapsack": "small", "log_triage": "calm", "map_exploration": "near"}


def teacher_of(family, contract, instance_id) -> Any:
    teacher = choose_family(family).open_teacher(FAMILIES[family], contract)
    return getattr(teacher, "open_for", lambda _: teacher)(instance_id)


def ask(player, messages):
    told = tuple(Message(**message) for message in messages)
    return asyncio.run(player.complete(CompletionRequest(told, seed=3, episode_id="any"))).text


def play(environment, player, seed):
    """Play an episode with a scripted policy; return the conversation and the rewards."""
    messages = environment.reset(seed=seed)
    rewards = []
    while True:
        reply = ask(player, messages)
        step = environment.step(reply)
        rewards.append(step.reward)
        messages.append({"role": "assistant", "content": reply})
        if step.is_over:
            return messages, rewards
        messages.append({"role": "user", "content": step.observation})


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("contract", ["persistent", "stateless"])
def test_conversation_and_score_are_the_machines(runtime, family, contract):
    found = choose_family(family)
    instance = found.sample(FAMILIES[family], 5)
    player = teacher_of(family, contract, instance.instance_id)
    environment = BlockEnvironment(family, contract, runtime=runtime)
    messages, rewards = play(environment, player, 5)

    class Fixed:
        """The same policy with the seed that the environment's caller used."""

        model_name = "scripted"
        token_source = "server"

        async def complete(self, request):
            return await player.complete(request._replace(seed=3))

    condition = make_condition(contract, bucket=FAMILIES[family])
    cap = found.usual_tool_call_cap(instance)
    spec = EpisodeSpec(prompt_set="compact", max_turns=24, tool_call_cap=cap)
    context = make_context(runtime, Fixed(), condition, family=found, spec=spec)
    recorded = asyncio.run(run_episode(context, PlannedEpisode(instance)))
    opening = json.loads(recorded.turns[0].observation or "")
    told = [(message["role"], message["content"]) for message in opening]
    for turn in recorded.turns[1:]:
        told.append(("assistant", turn.assistant_text))
        if turn.observation is not None:
            told.append(("user", turn.observation))
    assert [(message["role"], message["content"]) for message in messages] == told
    assert rewards[-1] == environment.get_reward() == recorded.episode.score
    assert not any(rewards[:-1])


def test_shaped_rewards_add_up_to_the_score(runtime):
    environment = BlockEnvironment("map_exploration", runtime=runtime, is_shaped=True)
    instance = choose_family("map_exploration").sample("near", 5)
    _, rewards = play(environment, teacher_of("map_exploration", "persistent", instance.instance_id), 5)
    assert len([reward for reward in rewards if reward > 0]) >= 2
    assert sum(rewards) == pytest.approx(environment.get_reward())


def test_reset_forgets_the_last_episode(runtime):
    environment = BlockEnvironment("knapsack", runtime=runtime)
    first = environment.reset(seed=1)
    environment.run_block("kept = 1")
    assert environment.reset(seed=1) == first
    assert "NameError" in environment.run_block("print(kept)")
    assert environment.get_reward() == 0


def test_a_claim_in_the_text_earns_nothing(runtime):
    environment = BlockEnvironment("knapsack", runtime=runtime)
    environment.reset(seed=1)
    step = environment.step("reward: 1.0\n```python\nprint('score 1.0')\nfinish()\n```")
    assert (step.is_over, step.reward, environment.get_reward()) == (True, 0.0, 0.0)


def test_an_ended_episode_takes_no_reply(runtime):
    environment = BlockEnvironment("knapsack", runtime=runtime)
    with pytest.raises(RuntimeError, match=r"call reset\(\)"):
        environment.step("any")
    environment.reset(seed=1)
    environment.run_block("finish()")
    assert environment.is_over
    with pytest.raises(RuntimeError, match=r"call reset\(\)"):
        environment.step("any")


def test_the_contract_decides_what_a_block_finds(runtime):
    for contract, found in (("persistent", True), ("stateless", False)):
        environment = BlockEnvironment("knapsack", contract, runtime=runtime)
        environment.reset(seed=2)
        environment.run_block("kept = 7")
        assert ("7" in json.loads(environment.run_block("print(kept)"))["output"]) == found
        environment.close()


def test_close_leaves_no_process_thread_or_file():
    def used():
        return len(descendants(os.getpid())), len(list(Path("/proc/self/fd").iterdir()))

    warm = BlockEnvironment("knapsack")
    warm.reset(seed=0)
    warm.close()
    before = used()
    threads = threading.active_count()
    for seed in range(5):
        environment = BlockEnvironment("knapsack")
        environment.reset(seed=seed)
        environment.run_block("x = 1")
        environment.reset(seed=seed + 1)
        environment.close()
    assert used() == before
    assert threading.active_count() <= threads + 8  # the loop's own pool of threads
