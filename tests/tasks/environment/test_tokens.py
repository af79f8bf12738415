"""Tokens of an episode: what was generated stays, and the whole is what the template writes."""

import math
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


class Sampled:
    """A model that draws fixed tokens, each with the logit log 2, and keeps what it was asked."""

    device = "cpu"

    def __init__(self, vocabulary_size, *replies):
        self.vocabulary_size = vocabulary_size
        self.replies = list(replies)
        self.asked = []

    def generate(self, **asked):
        import torch

        self.asked.append(asked)
        new = self.replies.pop(0)
        logits = torch.zeros(len(new), 1, self.vocabulary_size)
        for place, token in enumerate(new):
            logits[place, 0, token] = math.log(2)
        sequences = torch.cat([asked["input_ids"], torch.tensor([new])], dim=1)
        return SimpleNamespace(sequences=sequences, logits=tuple(logits))


def test_a_rollout_function_plays_each_prompts_seed_in_one_environment(runtime, tokenizer):
    opened = []

    def open_environment():
        opened.append(BlockEnvironment("knapsack", "stateless", max_turns=2, runtime=runtime))
        return opened[-1]

    rows = training_rows(open_environment, [3, 4], has_goal=True)
    roll_out = rollout_func(open_environment, rows, max_new_tokens=4)
    word = tokenizer.encode("x", add_special_tokens=False)[0]
    trainer = SimpleNamespace(
        processing_class=tokenizer, model=Sampled(len(tokenizer), *[[word] * 4] * 8), temperature=0.7
    )
    prompts = [rows[1]["prompt"], rows[0]["prompt"]]
    roll_out(prompts, trainer)
    rolled = roll_out(prompts, trainer)
    assert len(opened) == 2  # of the rows, and of both rollouts
    assert set(rolled) == set(TokenEpisode._fields)
    assert [tokenizer.decode(ids) for ids in rolled["prompt_ids"]] == [
        tokenizer.apply_chat_template(prompt, tokenize=False, add_generation_prompt=True) for prompt in prompts
    ]
    assert [sum(mask) for mask in rolled["env_mask"]] == [8, 8]  # two replies each
    assert environment_reward(["", ""], reward=tuple(rolled["reward"])) == [0.0, 0.0]


def test_a_rollout_samples_replies_with_their_probabilities(runtime, tokenizer):
    def open_environment():
        return BlockEnvironment("knapsack", "stateless", max_turns=4, runtime=runtime)

    rows = training_rows(open_environment, [3], has_goal=True)
    roll_out = rollout_func(open_environment, rows, max_new_tokens=3)
    end, pad = tokenizer.eos_token_id, tokenizer.pad_token_id
    word = tokenizer.encode("x", add_special_tokens=False)[0]
    model = Sampled(len(tokenizer), [word] * 3, [word, word, end], [word] * 2, [end])
    trainer = SimpleNamespace(processing_class=tokenizer, model=model, temperature=0.5)
    rolled = roll_out([rows[0]["prompt"]], trainer)

    (mask,) = rolled["env_mask"]
    (log_probabilities,) = rolled["logprobs"]
    own = [value for value, is_own in zip(log_probabilities, mask, strict=True) if is_own]
    # At half the temperature the logit is log 4, beside zeros.
    assert own == pytest.approx([math.log(4 / (len(tokenizer) + 3))] * 9)
    assert [value for value, is_own in zip(log_probabilities, mask, strict=True) if not is_own] == [0.0] * mask.count(0)

    told = [asked.pop("input_ids") for asked in model.asked]
    for ids, asked in zip(told, model.asked, strict=True):
        assert asked.pop("attention_mask").tolist() == [[1] * ids.shape[1]]
        assert asked == {
            "do_sample": True, "temperature": 0.5, "max_new_tokens": 3, "pad_token_id": pad,
            "return_dict_in_generate": True, "output_logits": True,
        }  # fmt: skip
    told = [tokenizer.decode(ids[0]) for ids in told]
    assert [text.count("length") for text in told] == [0, 1, 1, 1]  # only the first reply is cut off
