"""Token ids and labels."""

import copy

import pytest

from carryover.tasks.datasets.conversations import Conversation, TrainingMessage, Weight
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.hub import load_tokenizer
from carryover.tasks.sft.prepare import IGNORED, held_out_count, prepare_data, tokenize
from carryover.tasks.sft.tokenizer import build_tokenizer
from carryover.tasks.sft.training_spec import TokenizerSpec
from tests.flattening import flat


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    spec = TokenizerSpec(vocabulary_size=259)  # bytes only
    return load_tokenizer(build_tokenizer(["a"], spec, tmp_path_factory.mktemp("tokenizer")))


def _conversation(question, reply, weight: Weight = 1):
    return Conversation(
        messages=(
            TrainingMessage(role="user", content=question),
            TrainingMessage(role="assistant", content=reply, weight=weight),
        )
    )


def test_a_label_is_the_token_that_the_reply_generated(tokenizer):
    ((ids, labels),) = tokenize([_conversation("ab", "xyz")], tokenizer)
    # 10 tokens of the question, 11 of the header, then x y z and the end of the turn, then a newline
    assert len(ids) == len(labels) == 26
    assert [place for place, label in enumerate(labels) if label != IGNORED] == [21, 22, 23, 24]
    assert tokenizer.decode(ids[21:25]) == "xyz<|im_end|>"
    assert labels[21:25] == ids[21:25]


def learned_count(data):
    """Return how many tokens of a pass the loss is taken on."""
    return sum(label != IGNORED for label in flat(data.train["labels"]))


def test_counts_leave_out_what_is_held_out(tokenizer):
    conversations = [_conversation("ab", "xyz")] * 20
    data = prepare_data(conversations, tokenizer, max_length=26, validation_share=0.1, seed=0)
    assert data.validation is not None
    assert (len(data.train), len(data.validation)) == (18, 2)
    assert (data.token_count, learned_count(data)) == (18 * 26, 18 * 4)


def test_the_seed_decides_what_is_held_out(tokenizer):
    conversations = [_conversation("ab", "x" * length) for length in range(1, 30)]

    def held_out(seed):
        data = prepare_data(conversations, tokenizer, max_length=100, validation_share=0.2, seed=seed)
        assert data.validation is not None
        return [len(ids) for ids in data.validation["input_ids"]]

    assert held_out(1) == held_out(1)
    assert held_out(1) != held_out(2)


def test_a_conversation_without_a_trained_reply_is_left_out(tokenizer):
    conversations = [_conversation("ab", "xyz"), _conversation("ab", "xyz", weight=0)]
    assert len(prepare_data(conversations, tokenizer, max_length=26, validation_share=0.0, seed=0).train) == 1
    with pytest.raises(UserError, match="nothing to learn"):
        prepare_data(conversations[1:], tokenizer, max_length=26, validation_share=0.0, seed=0)


def test_a_foreign_template_learns_replies_of_weight_one_alone(tokenizer):
    foreign = copy.deepcopy(tokenizer)
    foreign.chat_template = "{% for message in messages %}{{ message.role }}:{{ message.content }}|{% endfor %}"
    foreign.chat_template += "{% if add_generation_prompt %}assistant:{% endif %}"
    conversations = [_conversation("ab", "xyz"), _conversation("ab", "xyz", weight=0)]
    (ids, labels), (_, unlearned) = tokenize(conversations, foreign)
    assert foreign.decode([label for label in labels if label != IGNORED]) == "xyz|"
    assert foreign.decode(ids) == "user:ab|assistant:xyz|"
    assert set(unlearned) == {IGNORED}


def test_a_conversation_too_long_is_named_and_never_cut(tokenizer):
    with pytest.raises(UserError, match=r"conversation 2 has 27 tokens, more than batch\.max_length 26"):
        prepare_data(
            [_conversation("ab", "xyz"), _conversation("abc", "xyz")],
            tokenizer, max_length=26, validation_share=0.0, seed=0,
        )  # fmt: skip


def test_the_papers_share_holds_out_fifty_of_a_thousand():
    assert held_out_count(1000, 0.05) == 50
