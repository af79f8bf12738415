"""Tokens of an episode: what was generated stays, and the whole is what the template writes."""

import pytest

from carryover.tasks.environment.block_environment import BlockEnvironment
from carryover.tasks.environment.for_trl import Generated, play_tokens
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


def test_a_prompt_ends_where_a_reply_begins(tokenizer):
    ids = prompt_ids(tokenizer, [{"role": "user", "content": "Go."}])
    assert tokenizer.decode(ids).endswith("<|im_start|>assistant\n")
