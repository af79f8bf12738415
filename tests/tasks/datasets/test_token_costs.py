"""Token counts of messages, by the paper's measure and by the training's."""

from types import SimpleNamespace
from typing import Any

import pytest
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, processors, trainers

from carryover.tasks.datasets.conversations import Conversation, TrainingMessage
from carryover.tasks.datasets.token_costs import TokenCosts, tokenizer_digest
from carryover.tasks.services.errors import UserError
from carryover.tasks.sft.prepare import tokenize
from carryover.tasks.sft.tokenizer import chat_template

SAID = (
    TrainingMessage(role="system", content="You write code."),
    TrainingMessage(role="user", content="\nFill it.\n"),
    TrainingMessage(role="assistant", content="  \n\nx = 1"),
    TrainingMessage(role="user", content="7"),
    TrainingMessage(role="assistant", content="finish()", weight=0),
)


@pytest.fixture
def tokenizer():
    """A tokenizer with a token for two line ends, as most pretrained models have."""
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.BPE())
    spaces = pre_tokenizers.Split(Regex(r"\s+"), "isolated")
    as_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.pre_tokenizer = pre_tokenizers.Sequence([spaces, as_bytes])
    marks = ["<|im_start|>", "<|im_end|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=marks, initial_alphabet=alphabet, show_progress=False)
    backend.train_from_iterator(["user\n\nFill it.\n\n"] * 20, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=backend, chat_template=chat_template("chatml"))


def test_lengths_of_messages_add_up_to_the_training_text(tokenizer):
    costs = TokenCosts(tokenizer, overhead=4)
    costs.measure(SAID)
    costed = [costs.costed(message) for message in SAID]
    ((ids, _),) = tokenize([Conversation(messages=SAID)], tokenizer)
    assert sum(each.length for each in costed) == len(ids)
    contents = [len(tokenizer.encode(each.content, add_special_tokens=False)) for each in SAID]
    assert [each.cost for each in costed] == [count + 4 for count in contents]
    assert [each.message for each in costed] == list(SAID)


def test_tokens_that_a_tokenizer_adds_to_a_text_do_not_count(tokenizer):
    def costed():
        costs = TokenCosts(tokenizer, overhead=4)
        costs.measure(SAID)
        return [costs.costed(message) for message in SAID]

    before = costed()
    begins = processors.TemplateProcessing(single="<|im_start|> $A", special_tokens=[("<|im_start|>", 0)])
    tokenizer.backend_tokenizer.post_processor = begins
    assert tokenizer.encode("x")[0] == 0
    assert costed() == before


def test_a_template_that_writes_no_lone_message_is_refused(tokenizer):
    tokenizer.chat_template = "{{ raise_exception('roles must alternate') }}"
    with pytest.raises(UserError, match=r"writes no system message by itself \(roles must alternate\), .*'chatml'"):
        TokenCosts(tokenizer, overhead=4)


def test_a_slow_tokenizer_is_refused():
    slow: Any = SimpleNamespace()
    with pytest.raises(UserError, match="the tokenizer SimpleNamespace has no fast implementation"):
        TokenCosts(slow, overhead=4)


def test_a_digest_is_of_words_and_template(tokenizer):
    digests = [tokenizer_digest(tokenizer)]
    tokenizer.chat_template = chat_template("qwen3")
    digests.append(tokenizer_digest(tokenizer))
    tokenizer.add_tokens(["another"])
    digests.append(tokenizer_digest(tokenizer))
    assert {len(digest) for digest in digests} == {64}
    assert len(set(digests)) == 3
