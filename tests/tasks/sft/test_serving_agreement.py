"""What a model is trained on is what it is served with: every prompt is a prefix of the training text."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from carryover.tasks.datasets.conversations import Conversation, TrainingMessage
from carryover.tasks.datasets.dataset import prepare_dataset
from carryover.tasks.datasets.dataset_spec import DatasetSpec
from carryover.tasks.datasets.token_costs import TokenCosts
from carryover.tasks.services.hub import load_tokenizer
from carryover.tasks.sft.prepare import IGNORED, tokenize
from carryover.tasks.sft.tokenizer import build_tokenizer, chat_template
from carryover.tasks.sft.training_spec import TokenizerSpec


@pytest.fixture(scope="module", params=["chatml", "qwen3"])
def tokenizer(request, tmp_path_factory):
    texts = ["<think>\n\n</think>\n\nLook.\n```python\nlook()\n```", '{"output": "1\\n"}', "  \n\n x = 1"] * 9
    folder = tmp_path_factory.mktemp(request.param)
    tokenizer = load_tokenizer(build_tokenizer(texts, TokenizerSpec(vocabulary_size=320), folder))
    tokenizer.chat_template = chat_template(request.param)
    return tokenizer


def served_prompt(tokenizer, messages):
    wire = [{"role": message.role, "content": message.content} for message in messages]
    encoded = tokenizer.apply_chat_template(
        wire, tokenize=True, return_dict=True, add_generation_prompt=True, enable_thinking=False
    )
    return encoded["input_ids"]


def assert_prompts_are_prefixes(tokenizer, conversation):
    ((ids, labels),) = tokenize([conversation], tokenizer)
    end_of_turn = tokenizer.eos_token_id
    learned = set()
    for place, message in enumerate(conversation.messages):
        if message.role != "assistant":
            continue
        prompt = served_prompt(tokenizer, conversation.messages[:place])
        assert ids[: len(prompt)] == prompt
        end = ids.index(end_of_turn, len(prompt)) + 1
        reply = ids[len(prompt) : end]
        assert tokenizer.decode(reply[:-1]) == message.content.lstrip()
        if message.weight:
            learned |= set(range(len(prompt), end))
    assert {place for place, label in enumerate(labels) if label != IGNORED} == learned


@pytest.mark.parametrize("text_format", ["paper", "exact_wire"])
def test_every_served_prompt_is_a_prefix_of_the_training_text(traces, tokenizer, text_format):
    steps = [
        traces.step("print(x)", error="NameError: x", injected="drop:x"),
        traces.step("x = 1", text="\n\n  Again.\n```python\nx = 1\n```\n"),
        traces.step("finish()"),
    ]
    tables = traces.record(traces.trace(steps=steps))
    spec = DatasetSpec(text_format=text_format)
    dataset = prepare_dataset(*tables.all, spec=spec, tokenizer=tokenizer, run_id="run", contracts=("persistent",))
    (record,) = dataset.records["persistent"]
    conversation = Conversation.model_validate(record)
    assert [message.weight for message in conversation.messages if message.role == "assistant"] == [0, 1, 1]
    assert_prompts_are_prefixes(tokenizer, conversation)


def test_the_empty_think_block_stands_before_every_reply(tokenizer):
    conversation = Conversation(
        messages=(
            TrainingMessage(role="user", content="Task."),
            TrainingMessage(role="assistant", content="One."),
            TrainingMessage(role="user", content="Go on."),
            TrainingMessage(role="assistant", content="Two."),
        )
    )
    text = tokenizer.apply_chat_template(conversation.template_messages(), tokenize=False)
    blocks = text.count("<|im_start|>assistant\n<think>\n\n</think>\n\n")
    assert blocks == (2 if "<think>" in tokenizer.chat_template else 0)
    assert_prompts_are_prefixes(tokenizer, conversation)


replies = st.text(alphabet="ab 1\n\t`_.<>/é", max_size=12)


@settings(derandomize=True, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.tuples(replies, st.text(max_size=8), st.sampled_from([0, 1])), min_size=1, max_size=4))
def test_prompts_stay_prefixes_and_lengths_add_up_for_any_text(tokenizer, texts):
    messages = [TrainingMessage(role="system", content="You write code.")]
    for reply, observation, weight in texts:
        messages.append(TrainingMessage(role="user", content=observation))
        messages.append(TrainingMessage(role="assistant", content=reply, weight=weight))
    conversation = Conversation(messages=tuple(messages))
    assert_prompts_are_prefixes(tokenizer, conversation)
    costs = TokenCosts(tokenizer, overhead=4)
    costs.measure(messages)
    ((ids, _),) = tokenize([conversation], tokenizer)
    assert sum(map(costs.length, messages)) == len(ids)
