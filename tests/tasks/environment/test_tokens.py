"""Tokens of an episode: what was generated stays, and the whole is what the template writes."""

from types import SimpleNamespace

import pytest

from carryover.tasks.environment.block_environment import BlockEnvironment
from carryover.tasks.environment.for_trl import (
    Generated,
    TokenEpisode,
    environment_reward,
    play_tokens,
    rollout_func,
    training_rows,
)
from carryover.tasks.environment.tokens import bridge_ids, prompt_ids
from carryover.tasks.services.hub import load_tokenizer
from tests.tiny_bases import save_tiny_base


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    return load_tokenizer(save_tiny_base(tmp_path_factory.mktemp("base"), "qwen3"))


@pytest.fixture
def environment(runtime):
    return BlockEnvironment("knapsack", runtime=runtime)


REPLIES = ("I list.\n```python\nprint(list_items())\n```", "I end.\n```python\nfinish()\n```")


def scripted(tokenizer, *, writes_end):
    """Generate the replies as tokens, with the end of the turn where a model writes it."""
    left = list(REPLIES)

    def generate(ids):
        made = tokenizer.encode(left.pop(0), add_special_tokens=False)
        if writes_end:
            made = [*made, tokenizer.eos_token_id]
        return Generated(made, [-0.5] * len(made))

    return generate


@pytest.mark.parametrize("writes_end", [True, False])
def test_tokens_are_those_of_the_whole_conversation(tokenizer, environment, writes_end):
    played = play_tokens(environment, 4, tokenizer, scripted(tokenizer, writes_end=writes_end))
    told = environment.reset(seed=4)
    observation = environment.step(REPLIES[0]).observation
    conversation = [*told, {"role": "assistant", "content": REPLIES[0]}, {"role": "user", "content": observation}]
    text = tokenizer.apply_chat_template(conversation, tokenize=False, add_generation_prompt=True) + REPLIES[1]
    ids = tokenizer.encode(text, add_special_tokens=False)
    assert played.prompt_ids + played.completion_ids == ids + [tokenizer.eos_token_id] * writes_end


def test_the_mask_covers_what_the_model_wrote(tokenizer, environment):
    played = play_tokens(environment, 4, tokenizer, scripted(tokenizer, writes_end=False))
    pairs = zip(played.completion_ids, played.env_mask, strict=True)
    written = tokenizer.decode([token for token, is_own in pairs if is_own])
    assert written == "".join(REPLIES)
    assert {value for value, is_own in zip(played.logprobs, played.env_mask, strict=True) if is_own} == {-0.5}
    assert played.reward == 0.0


def test_a_bridge_writes_the_end_of_a_turn_once(tokenizer):
    whole = bridge_ids(tokenizer, "seen", last_id=None)
    assert whole[0] == tokenizer.eos_token_id
    assert bridge_ids(tokenizer, "seen", last_id=tokenizer.eos_token_id) == whole[1:]


def test_a_bridge_that_begins_as_a_reply_ends_is_whole(tokenizer, monkeypatch):
    """Only the end of a turn is written once: a reply may end with a line break of its own."""
    monkeypatch.setattr(tokenizer, "chat_template", "{% for one in messages %}{{ one.content }}\n{% endfor %}")
    whole = bridge_ids(tokenizer, "seen", last_id=None)
    assert tokenizer.decode(whole) == "\nseen\n"
    assert bridge_ids(tokenizer, "seen", last_id=whole[0]) == whole


def test_a_prompt_ends_where_a_reply_begins(tokenizer):
    ids = prompt_ids(tokenizer, [{"role": "user", "content": "Go."}])
    assert tokenizer.decode(ids).endswith("<|im_start|>assistant\n")


def test_a_rollout_function_plays_each_prompts_seed_in_one_environment(tmp_path, runtime, tokenizer):
    from transformers import AutoModelForCausalLM

    opened = []

    def open_environment():
        opened.append(BlockEnvironment("knapsack", "stateless", max_turns=2, runtime=runtime))
        return opened[-1]

    rows = training_rows(open_environment, [3, 4], has_goal=True)
    roll_out = rollout_func(open_environment, rows, max_new_tokens=4)
    model = AutoModelForCausalLM.from_pretrained(save_tiny_base(tmp_path, "qwen3"))
    trainer = SimpleNamespace(processing_class=tokenizer, model=model, temperature=0.7)
    prompts = [rows[1]["prompt"], rows[0]["prompt"]]
    roll_out(prompts, trainer)
    rolled = roll_out(prompts, trainer)
    assert len(opened) == 2  # of the rows, and of both rollouts
    assert set(rolled) == set(TokenEpisode._fields)
    assert [tokenizer.decode(ids) for ids in rolled["prompt_ids"]] == [
        tokenizer.apply_chat_template(prompt, tokenize=False, add_generation_prompt=True) for prompt in prompts
    ]
    for mask, log_probabilities in zip(rolled["env_mask"], rolled["logprobs"], strict=True):
        own = [value for value, is_own in zip(log_probabilities, mask, strict=True) if is_own]
        assert len(own) == 8  # two replies, each cut off
        assert all(value < 0 for value in own)
    assert environment_reward(["", ""], reward=rolled["reward"]) == [0.0, 0.0]
