"""The episodes of an update, and the row about them."""

import pytest

from carryover.tasks.environment.for_trl import Generated, TokenEpisode
from carryover.tasks.plans.reinforced import REINFORCEMENT
from carryover.tasks.reinforcement.reinforcement_spec import CACHE_BYTES, reinforcement_need
from carryover.tasks.reinforcement.rollouts import Rolled, World, _play, play_update, summary
from carryover.tasks.runtime.contract import named_contract
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.hub import load_tokenizer
from carryover.tasks.sft.load import with_template
from carryover.tasks.sft.machine import training_need
from carryover.tasks.sft.training_spec import TRAINING

SPEC = REINFORCEMENT["smoke"].model_copy(update={"max_completion_tokens": 8})


@pytest.fixture
def play(start, runtime):
    """A function that plays episodes of seeds with a random model."""
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(start)
    tokenizer = with_template(TRAINING["smoke"], load_tokenizer(start))
    world = World(family="knapsack", bucket="small", contract=named_contract("stateless"), runtime=runtime)

    def of(*seeds, update=1, spec=SPEC):
        rolled = play_update(model, tokenizer, spec, world, seeds=seeds, update=update)
        return rolled, [tokenizer.decode(each.tokens.completion_ids) for each in rolled]

    return of


def test_an_update_plays_each_seed_with_tokens_of_its_own(play):
    """Of one update and place the tokens are equal."""
    rolled, texts = play(5, 5, 6)
    first, same_seed, other_seed = (each.tokens for each in rolled)
    assert first.prompt_ids == same_seed.prompt_ids != other_seed.prompt_ids
    assert first.completion_ids != same_seed.completion_ids
    for each in rolled:
        assert each.turn_count == SPEC.max_turns
        assert sum(each.tokens.env_mask) == SPEC.max_turns * SPEC.max_completion_tokens
        assert each.tokens.reward == pytest.approx(each.score - SPEC.turn_price * SPEC.max_turns)
        assert not each.is_finished
    again, *_ = play(5)[1]
    other, *_ = play(5, update=2)[1]
    assert again == texts[0] != other
    assert all("length" in text for text in texts)  # an observation says that the reply was cut off


def test_an_episode_ends_at_its_most_tokens(play):
    short = SPEC.model_copy(update={"max_episode_tokens": 1})
    ((ended,), _) = play(5, spec=short)
    assert ended.turn_count == 1
    assert ended.tokens.env_mask == [1] * SPEC.max_completion_tokens


def rolled(reward, prompt, reply, observation, **fields):
    mask = [1] * reply + [0] * observation
    tokens = TokenEpisode([0] * prompt, [0] * len(mask), [0.0] * len(mask), mask, reward)
    return Rolled(tokens, **fields)


def test_an_update_s_row_holds_shares_and_means():
    played = [
        rolled(0.5, 10, 3, 1, score=0.75, turn_count=5, has_missed=True, is_finished=True),
        rolled(0.25, 20, 5, 3, score=0.25, turn_count=1, has_missed=False, is_finished=True),
        rolled(0.0, 30, 4, 2, score=0.5, turn_count=3, has_missed=False, is_finished=False),
        rolled(0.25, 40, 4, 2, score=0.5, turn_count=3, has_missed=False, is_finished=True),
    ]
    row = summary(3, played, 12.5)
    assert (row.policy_update, row.episode_count, row.wall_seconds) == (3, 4, 12.5)
    assert (row.missed_share, row.unfinished_share) == (0.25, 0.25)
    assert (row.mean_score, row.mean_reward, row.mean_reply_count) == (0.5, 0.25, 3)
    assert (row.mean_completion_tokens, row.mean_tokens) == (4, 31)


def test_a_reinforcement_needs_its_cache_beside_its_training():
    spec = TRAINING["laptop_base"]
    assert reinforcement_need(spec).memory_bytes == (training_need(spec).memory_bytes or 0) + CACHE_BYTES


def scripted(tokenizer, *replies):
    """Return a sampler that writes replies in turn, token by token."""
    left = [tokenizer.encode(reply, add_special_tokens=False) for reply in replies]
    return lambda _ids: Generated(left.pop(0), [])


def test_an_episode_tells_missed_names_and_its_end(start, runtime):
    tokenizer = with_template(TRAINING["smoke"], load_tokenizer(start))
    world = World(family="knapsack", bucket="small", contract=named_contract("stateless"), runtime=runtime)
    spec = SPEC.model_copy(update={"max_turns": 3, "turn_price": 0.25})
    keeps = scripted(tokenizer, "```python\nx = 1\n```", "```python\nprint(x)\n```", "```python\nfinish()\n```")
    kept = _play(world, spec, 5, tokenizer, keeps)
    assert (kept.has_missed, kept.is_finished, kept.turn_count) == (True, True, 3)
    assert kept.tokens.reward == kept.score - 3 * 0.25
    one_turn = spec.model_copy(update={"max_turns": 1})
    ended = _play(world, one_turn, 5, tokenizer, scripted(tokenizer, "```python\nx = 1\n```"))
    assert (ended.has_missed, ended.is_finished, ended.turn_count) == (False, False, 1)


def test_a_model_of_another_architecture_is_refused(start, runtime):
    from transformers import GPT2Config, GPT2LMHeadModel

    model = GPT2LMHeadModel(GPT2Config(n_layer=1, n_head=1, n_embd=8, n_positions=8, vocab_size=10))
    world = World(family="knapsack", bucket="small", contract=named_contract("stateless"), runtime=runtime)
    with pytest.raises(UserError, match="reinforcement plays plain Qwen3 models alone, not gpt2"):
        play_update(model, load_tokenizer(start), SPEC, world, seeds=[5], update=1)
