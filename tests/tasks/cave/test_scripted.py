"""Scripted models: replies in order, or by the conversation."""

import asyncio

import pytest

from carryover.tasks.agent.protocol import CompletionRequest, Message
from carryover.tasks.cave.scripted import block, count_tokens, scripted, scripted_by


def complete(model, *contents):
    messages = [Message(role="user" if place % 2 == 0 else "assistant", content=c) for place, c in enumerate(contents)]
    return asyncio.run(model.complete(CompletionRequest(tuple(messages), seed=1, episode_id="e")))


def test_replies_come_in_order():
    model = scripted("First.", "Second.")
    assert (model.model_name, model.habits) == ("scripted", None)
    assert [complete(model, *said).text for said in (["a"], ["a", "b", "c"])] == ["First.", "Second."]
    with pytest.raises(IndexError, match=r"^the script has 2 replies, and reply 3 was asked for$"):
        complete(model, "a", "b", "c", "d", "e")


def test_a_reply_may_follow_from_the_conversation():
    model = scripted_by(lambda messages: messages[-1].content.upper())
    assert (model.model_name, model.habits) == ("scripted", None)
    told = complete(model, "a" * 9)
    assert (told.text, told.prompt_tokens, told.completion_tokens) == ("A" * 9, 2, 2)


def test_tokens_are_four_characters():
    assert count_tokens([Message(role="user", content="x" * 5), Message(role="user", content="y" * 6)]) == 2


def test_a_block_stands_below_its_thought():
    assert block("x = 1") == "```python\nx = 1\n```"
    assert block("x = 1", "I bind.") == "I bind.\n```python\nx = 1\n```"
