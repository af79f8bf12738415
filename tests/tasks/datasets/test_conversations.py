"""Training data on disk."""

import pytest

from carryover.tasks.datasets.conversations import (
    Conversation,
    TrainingMessage,
    read_conversations,
    write_conversations,
)
from carryover.tasks.services.errors import UserError


def test_what_is_written_is_read_back(tmp_path):
    said = (
        TrainingMessage(role="user", content="a\u2028b\n"),
        TrainingMessage(role="assistant", content="c", weight=0),
    )
    conversations = [Conversation(messages=said), Conversation(messages=said[:1])]
    assert write_conversations(tmp_path / "data.jsonl", conversations) == 2
    assert read_conversations(tmp_path / "data.jsonl") == conversations


def test_a_message_is_trained_by_default_and_extra_fields_allowed(tmp_path):
    (tmp_path / "data.jsonl").write_text('{"episode_id": "e", "messages": [{"role": "assistant", "content": "c"}]}\n')
    ((message,),) = (conversation.messages for conversation in read_conversations(tmp_path / "data.jsonl"))
    assert message.weight == 1


def test_templates_see_the_weight_only_where_it_is_0():
    said = (TrainingMessage(role="assistant", content="a"), TrainingMessage(role="assistant", content="b", weight=0))
    assert Conversation(messages=said).template_messages() == [
        {"role": "assistant", "content": "a"},
        {"role": "assistant", "content": "b", "weight": 0},
    ]


def test_a_bad_line_is_named(tmp_path):
    path = tmp_path / "data.jsonl"
    path.write_text('{"messages": []}\n{"messages": [{"role": "nobody", "content": ""}]}\n')
    with pytest.raises(UserError, match=r"data.jsonl line 2 is not a conversation: .*messages.0.role"):
        read_conversations(path)


def test_missing_and_empty_data_are_one_line_each(tmp_path):
    with pytest.raises(UserError, match="prepare the dataset first"):
        read_conversations(tmp_path / "data.jsonl")
    (tmp_path / "data.jsonl").touch()
    with pytest.raises(UserError, match="holds no conversation"):
        read_conversations(tmp_path / "data.jsonl")
