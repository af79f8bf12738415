"""The environment plays what the study's machine plays, and leaves nothing behind."""

import asyncio
import contextlib
import json
import os
import threading
import time
from pathlib import Path

import pytest

from carryover.tasks.agent.episode import PlannedEpisode, run_episode
from carryover.tasks.agent.episode_spec import EpisodeSpec
from carryover.tasks.environment.block_environment import BlockEnvironment
from carryover.tasks.families.choose import choose_family
from carryover.tasks.runtime.contract import Contract
from carryover.tasks.runtime.process.descendants import descendants
from tests.tasks.agent.playing import make_condition, make_context
from tests.tasks.environment.scripted_policy import BUCKETS, open_policy, open_teacher, play


@pytest.mark.parametrize("family", BUCKETS)
@pytest.mark.parametrize("contract", ["persistent", "stateless", "recent-1"])
def test_conversation_and_score_are_the_machines(runtime, family, contract):
    found = choose_family(family)
    instance = found.sample(BUCKETS[family], 5)
    player = open_teacher(family, contract, 5)
    environment = BlockEnvironment(family, contract, runtime=runtime)
    messages, rewards = play(environment, open_policy(family, contract, 5), 5)

    class Fixed:
        """The same policy with the seed that the environment's caller used."""

        model_name = "scripted"
        token_source = "server"

        async def complete(self, request):
            return await player.complete(request._replace(seed=3))

    condition = make_condition(contract, bucket=BUCKETS[family])
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
    _, rewards = play(environment, open_policy("map_exploration", "persistent", 5), 5)
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


def test_nothing_of_a_cut_off_reply_runs(runtime):
    environment = BlockEnvironment("knapsack", runtime=runtime)
    environment.reset(seed=1)
    step = environment.step("I bind.\n```python\nkept = 7\n```", is_cut_off=True)
    assert "length" in (step.observation or "")
    assert "NameError" in environment.run_block("print(kept)")
    environment.run_block("finish()")
    assert environment.missed_names == 1
    episode = environment.recorded.episode
    assert (episode.total_tokens, episode.model_seconds) == (0, 0.0)  # the trainer counts and times its model itself


def test_opening_messages_are_those_of_reset(runtime):
    environment = BlockEnvironment("log_triage", "stateless", runtime=runtime)
    assert environment.opening(seed=4) == environment.reset(seed=4)


@pytest.mark.parametrize(("family", "usual", "other"), [("knapsack", "small", "easy"), ("log_triage", "calm", "busy")])
def test_bucket_decides_the_instances(runtime, family, usual, other):
    environments = [BlockEnvironment(family, runtime=runtime, bucket=bucket) for bucket in (None, usual, other)]
    assert [environment.bucket for environment in environments] == [usual, usual, other]
    first, same, harder = (environment.opening(seed=4) for environment in environments)
    assert first == same != harder


def test_an_ended_episode_takes_no_reply(runtime):
    environment = BlockEnvironment("knapsack", runtime=runtime)
    environment.stop()
    assert (environment.is_over, environment.get_reward()) == (True, 0.0)
    with pytest.raises(RuntimeError, match=r"call reset\(\)"):
        environment.step("any")
    environment.reset(seed=1)
    assert not environment.is_over
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


LEAVE = """
import os, string, threading, time
def kept(): return 1
string.kept = 1
os.environ["KEPT"] = "1"
threading.Thread(target=time.sleep, args=(600,), name="kept", daemon=True).start()
child = os.fork()
if child == 0:
    time.sleep(600)
print("child", child > 0)
"""
WRITE = """
try:
    open("kept.txt", "w")
except OSError as refused:
    print(refused)
"""
LOOK = """
import os, string, threading
print({
    "function": "kept" in globals(),
    "module attribute": hasattr(string, "kept"),
    "file": os.path.exists("kept.txt"),
    "variable": "KEPT" in os.environ,
    "thread": any(thread.name == "kept" for thread in threading.enumerate()),
})
"""
HELD = {"function": True, "module attribute": True, "file": False, "variable": True, "thread": True}
NOTHING = dict.fromkeys(HELD, False)


def outputs(environment, *blocks):
    return [json.loads(environment.run_block(block))["output"] for block in blocks]


def test_a_closed_environment_has_no_episode(runtime):
    environment = BlockEnvironment("map_exploration", runtime=runtime)
    _, rewards = play(environment, open_policy("map_exploration", "persistent", 5), 5)
    assert environment.get_reward() == rewards[-1] > 0
    environment.close()
    assert environment.is_over
    assert environment.get_reward() == 0.0
    with pytest.raises(AssertionError, match="no episode has been played"):
        _ = environment.recorded


@pytest.mark.parametrize("ends", ["reset", "close"])
def test_nothing_of_an_episode_is_left(runtime, ends):
    environment = BlockEnvironment("knapsack", "persistent", runtime=runtime)
    environment.reset(seed=1)
    processes = set(descendants(os.getpid()))
    child, refusal, held = outputs(environment, LEAVE, WRITE, LOOK)
    assert (child, held) == ("child True", str(HELD))
    assert "Read-only" in refusal
    left = set(descendants(os.getpid())) - processes
    if ends == "close":
        environment.close()
    environment.reset(seed=1)
    assert outputs(environment, LOOK) == [str(NOTHING)]
    while not left.isdisjoint(descendants(os.getpid())):
        time.sleep(0.01)  # a process ends when its channel has closed; the test's time limit is the patience
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


def test_a_contract_of_one_s_own_is_played_by_its_definition(runtime):
    notes = Contract(name="notes", lifetime="recent:1", words="Runtime: NOTES.")
    environment = BlockEnvironment("knapsack", notes, runtime=runtime)
    assert "Runtime: NOTES." in environment.reset(0)[0]["content"]
    environment.run_block("kept = 1")
    assert "1" in environment.run_block("print(kept)")
    environment.run_block("pass")
    assert "NameError" in environment.run_block("print(kept)")
    environment.close()


def test_a_contract_that_keeps_files_has_a_folder():
    filed = Contract(name="filed", lifetime="block", keeps_files=True)
    with contextlib.closing(BlockEnvironment("knapsack", filed)) as environment:
        environment.reset(0)
        environment.run_block("open('notes.txt', 'w').write('kept')")
        assert "kept" in environment.run_block("print(open('notes.txt').read())")


def test_a_known_name_for_another_contract_is_refused():
    with pytest.raises(ValueError, match="the name 'persistent' means another contract"):
        BlockEnvironment("knapsack", Contract(name="persistent", lifetime="block"))
