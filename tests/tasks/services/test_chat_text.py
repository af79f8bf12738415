"""What chat templates of other families write: replies found without any mark in the template."""

import pytest

from carryover.tasks.services.chat_text import can_train, message_text, render_conversation
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.hub import load_tokenizer
from carryover.tasks.sft.tokenizer import TokenCounter, build_tokenizer
from carryover.tasks.sft.training_spec import TokenizerSpec

LLAMA = (
    "{% for message in messages %}<|start|>{{ message.role }}<|end|>\n\n{{ message.content | trim }}<|eot|>{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant<|end|>\n\n{% endif %}"
)
OPENS_ITSELF = (
    "{% for message in messages %}{% if loop.first and message.role != 'system' %}system: helpful;\n{% endif %}"
    "{{ message.role }}: {{ message.content }};\n{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}"
)
HIDES_EARLIER_REPLIES = (
    "{% for message in messages %}{% if loop.last or message.role != 'assistant' %}"
    "{{ message.role }}: {{ message.content }};\n{% endif %}{% endfor %}"
)
NO_SYSTEM = (
    "{% for message in messages %}{% if message.role == 'system' %}{{ raise_exception('no system') }}{% endif %}"
    "[{{ message.content }}]{% endfor %}"
)
MESSAGES = (
    {"role": "system", "content": "You write code."},
    {"role": "user", "content": "Look."},
    {"role": "assistant", "content": "\n One.", "weight": 0},
    {"role": "user", "content": "Go on."},
    {"role": "assistant", "content": "Two.\n"},
)


@pytest.fixture
def tokenizer(tmp_path):
    return load_tokenizer(build_tokenizer(["a"], TokenizerSpec(vocabulary_size=259), tmp_path))


@pytest.mark.parametrize(("template", "ends"), [(LLAMA, "<|eot|>"), (OPENS_ITSELF, ";")])
def test_replies_are_found_in_any_template_that_keeps_them(tokenizer, template, ends):
    tokenizer.chat_template = template
    rendered = render_conversation(tokenizer, MESSAGES)
    shown = [rendered.text[reply.start : reply.end] for reply in rendered.replies]
    assert [text.removesuffix(ends).rstrip() for text in shown] == ["One.", "Two."]
    assert all(text.endswith(ends) for text in shown)
    assert [reply.is_learned for reply in rendered.replies] == [False, True]
    assert can_train(tokenizer)


def test_a_template_that_rewrites_earlier_replies_is_refused(tokenizer):
    tokenizer.chat_template = HIDES_EARLIER_REPLIES
    assert not can_train(tokenizer)
    with pytest.raises(UserError, match=r"rewrites earlier turns.*set chat_template to 'chatml' or 'qwen3'"):
        render_conversation(tokenizer, MESSAGES)


def test_a_template_that_ends_no_reply_trains_none(tokenizer):
    tokenizer.chat_template = "{% for message in messages %}{{ message.content }}{% endfor %}"
    assert not can_train(tokenizer)


def test_a_template_that_leaves_one_reply_open_trains_none(tokenizer):
    tokenizer.chat_template = (
        "{% for message in messages %}{{ message.content }}{% if loop.index < 5 %};{% endif %}{% endfor %}"
    )
    assert not can_train(tokenizer)


def test_a_message_is_written_without_the_opening_that_a_template_adds(tokenizer):
    tokenizer.chat_template = OPENS_ITSELF
    assert message_text(tokenizer, "user", "Look.") == "user: Look.;\n"
    assert message_text(tokenizer, "system", "Code.") == "system: Code.;\n"


def test_a_message_is_written_where_a_template_takes_no_system_message(tokenizer):
    tokenizer.chat_template = NO_SYSTEM
    assert message_text(tokenizer, "user", "Look.") == "[Look.]"


def test_a_template_that_takes_no_system_message_trains_none(tokenizer):
    tokenizer.chat_template = NO_SYSTEM
    assert not can_train(tokenizer)


def test_counted_tokens_leave_out_the_opening_that_a_template_adds(tokenizer):
    from carryover.tasks.agent.protocol import Message

    tokenizer.chat_template = OPENS_ITSELF
    messages = [Message(role="system", content="Code."), Message(role="user", content="Look.")]
    served = tokenizer.apply_chat_template(
        [message.model_dump() for message in messages], tokenize=False, add_generation_prompt=True
    )
    assert TokenCounter(tokenizer)(messages) == len(served.encode())
