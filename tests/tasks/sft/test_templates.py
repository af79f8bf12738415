"""Training and serving render the same tokens."""

from importlib import resources

import pytest

from carryover.tasks.datasets.conversations import Conversation, TrainingMessage
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.hub import load_tokenizer
from carryover.tasks.sft.load import with_template
from carryover.tasks.sft.prepare import IGNORED, tokenize
from carryover.tasks.sft.tokenizer import build_tokenizer, chat_template
from carryover.tasks.sft.training_spec import TRAINING, TokenizerSpec

CONVERSATION = Conversation(
    messages=(
        TrainingMessage(role="system", content="You write code.\n"),
        TrainingMessage(role="user", content="Fill the knapsack."),
        TrainingMessage(role="assistant", content="\n  I look.\n```python\nprint(1)\n```"),
        TrainingMessage(role="user", content='{"output": "1\\n"}'),
        TrainingMessage(role="assistant", content="It failed.", weight=0),
        TrainingMessage(role="user", content='{"error": "<think>"}'),
        TrainingMessage(role="assistant", content="Done.\n"),
    )
)
REPLIES = [position for position, message in enumerate(CONVERSATION.messages) if message.role == "assistant"]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    texts = [message.content for message in CONVERSATION.messages] * 3
    return load_tokenizer(build_tokenizer(texts, TokenizerSpec(vocabulary_size=300), tmp_path_factory.mktemp("tok")))


@pytest.mark.parametrize("name", ["chatml", "qwen3"])
def test_every_served_prompt_is_a_prefix_of_training_tokens(tokenizer, name):
    tokenizer.chat_template = chat_template(name)
    ((ids, labels),) = tokenize([CONVERSATION], tokenizer)
    end_of_turn = tokenizer.convert_tokens_to_ids("<|im_end|>")
    for position in REPLIES:
        prompt = [message.model_dump(exclude={"weight"}) for message in CONVERSATION.messages[:position]]
        served = tokenizer.apply_chat_template(prompt, add_generation_prompt=True, return_dict=True)["input_ids"]
        assert ids[: len(served)] == served
        reply = CONVERSATION.messages[position]
        generated = [*tokenizer(reply.content.lstrip(), add_special_tokens=False)["input_ids"], end_of_turn]
        place = slice(len(served), len(served) + len(generated))
        assert ids[place] == generated
        assert labels[place] == (generated if reply.weight else [IGNORED] * len(generated))


@pytest.mark.parametrize("name", ["chatml", "qwen3"])
def test_only_trained_replies_and_their_ends_have_labels(tokenizer, name):
    tokenizer.chat_template = chat_template(name)
    ((_, labels),) = tokenize([CONVERSATION], tokenizer)
    learned = tokenizer.decode([label for label in labels if label != IGNORED])
    assert learned == "I look.\n```python\nprint(1)\n```<|im_end|>Done.\n<|im_end|>"


def test_qwen3_prompts_match_its_own_template_with_thinking_off(tokenizer):
    own = (resources.files("trl") / "chat_templates" / "qwen3.jinja").read_text()
    opening = [message.model_dump(exclude={"weight"}) for message in CONVERSATION.messages[:2]]
    arguments = {"add_generation_prompt": True, "tokenize": False, "enable_thinking": False}
    ours = tokenizer.apply_chat_template(opening, chat_template=chat_template("qwen3"), **arguments)
    assert ours == tokenizer.apply_chat_template(opening, chat_template=own, **arguments)
    assert ours.endswith("<|im_start|>assistant\n<think>\n\n</think>\n\n")


def test_qwen3_keeps_the_empty_think_block_in_every_reply(tokenizer):
    messages = CONVERSATION.template_messages()
    text = tokenizer.apply_chat_template(messages, chat_template=chat_template("qwen3"), tokenize=False)
    assert text.count("<|im_start|>assistant\n<think>\n\n</think>\n\n") == len(REPLIES)


def test_a_base_s_template_is_replaced_by_trls_variant_alone(tokenizer):
    folder = resources.files("trl") / "chat_templates"
    spec = TRAINING["paper"].model_copy(update={"chat_template": None})
    tokenizer.chat_template = (folder / "qwen3.jinja").read_text()
    assert with_template(spec, tokenizer).chat_template == (folder / "qwen3_training.jinja").read_text()
    tokenizer.chat_template = None
    with pytest.raises(UserError, match="has no chat template"):
        with_template(spec, tokenizer)
    named = spec.model_copy(update={"chat_template": "chatml"})
    assert with_template(named, tokenizer).chat_template == chat_template("chatml")
