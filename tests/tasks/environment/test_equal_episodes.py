"""Equal seeds give equal conversations and rewards on every trainer's interface."""

import re
from itertools import product

import pytest

from carryover.tasks.environment.block_environment import BlockEnvironment
from carryover.tasks.environment.for_trl import Generated, TrlEnvironment, play_tokens
from carryover.tasks.services.hub import load_tokenizer
from tests.tasks.environment.foreign_trainers import run_session
from tests.tasks.environment.scripted_policy import BUCKETS, Played, open_policy, play
from tests.tiny_bases import save_tiny_base

CONDITIONS = list(product(BUCKETS, ("persistent", "stateless")))
SEEDS = 167
"""Of each of six conditions: 1,002 episodes."""
_BLOCK = re.compile(r"```python\n(.*?)\n```", re.DOTALL)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    return load_tokenizer(save_tiny_base(tmp_path_factory.mktemp("base"), "qwen3"))


def open_environment(runtime, family, contract):
    return BlockEnvironment(family, contract, bucket=BUCKETS[family], runtime=runtime)


def replies_of(played: Played) -> list[str]:
    return [message["content"] for message in played.messages if message["role"] == "assistant"]


def observations_of(played: Played) -> list[str]:
    return [message["content"] for message in played.messages if message["role"] == "user"]


def assert_equal_in_tokens(tokenizer, environment, played, seed):
    """Replay the replies as tokens: the decoded episode is the conversation, as the template writes it."""
    left = replies_of(played)

    def generate(_ids):
        ids = tokenizer.encode(left.pop(0), add_special_tokens=False)
        return Generated(ids, [0.0] * len(ids))

    told = play_tokens(environment, seed, tokenizer, generate)
    *before, last = played.messages
    written = tokenizer.apply_chat_template(before, tokenize=False, add_generation_prompt=True) + last["content"]
    assert tokenizer.decode(told.prompt_ids + told.completion_ids) == written
    assert told.reward == played.rewards[-1]


def assert_equal_in_tool_calls(environment, played, seed):
    """Replay the blocks as tool calls: each returns the observation, and the state earns the reward."""
    adapter = TrlEnvironment(environment)
    told = [adapter.reset(seed=seed)]
    for reply in replies_of(played):
        found = _BLOCK.search(reply)
        assert found is not None
        told.append(adapter.run_block(found[1]))
    assert told == [*observations_of(played), "The episode is over."]
    assert adapter.get_reward() == played.rewards[-1]


@pytest.mark.parametrize(("family", "contract"), CONDITIONS)
def test_trl_plays_the_same_episodes(runtime, tokenizer, family, contract):
    environment = open_environment(runtime, family, contract)
    played = play(environment, open_policy(family, contract, 3), 3)
    assert_equal_in_tokens(tokenizer, environment, played, 3)
    assert_equal_in_tool_calls(environment, played, 3)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("family", "contract"), CONDITIONS)
def test_a_thousand_episodes_are_equal_everywhere(runtime, tokenizer, family, contract):
    environment = open_environment(runtime, family, contract)
    of_verifiers = run_session("verifiers", family, contract, SEEDS)
    of_openenv = run_session("openenv", family, contract, SEEDS)
    assert len(of_verifiers) == len(of_openenv) == SEEDS
    for seed in range(SEEDS):
        played = play(environment, open_policy(family, contract, seed), seed)
        assert_equal_in_tokens(tokenizer, environment, played, seed)
        assert_equal_in_tool_calls(environment, played, seed)
        for session in (of_verifiers, of_openenv):
            assert session[seed]["messages"] == played.messages
            assert session[seed]["reward"] == played.rewards[-1]
