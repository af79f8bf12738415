"""Which reply gets which result, and what of a message is its text."""

import json

import pytest

from carryover.tasks.readers.conversation import opening_of
from carryover.tasks.readers.trace import OpeningMessage
from tests.tasks.readers.whole_traces import KEPT_CONVERSATIONS, whole_conversation

CONVERSATIONS = json.loads(KEPT_CONVERSATIONS.read_text(encoding="utf-8"))


@pytest.mark.parametrize("fact", CONVERSATIONS)
def test_a_conversation_has_these_replies(fact):
    assert whole_conversation(CONVERSATIONS[fact]["messages"]) == CONVERSATIONS[fact]


def test_the_opening_is_what_stands_before_the_first_reply():
    messages = [
        {"role": "Developer", "content": "Be brief."},
        {"from": "system", "value": ["Count", {"type": "text", "text": " items."}]},
        {"type": "human", "text": "Go."},
        {"content": {"text": "Now."}},
        {"role": "assistant", "content": "So."},
        {"role": "user", "content": "Later."},
    ]
    assert opening_of(messages) == (
        OpeningMessage("system", "Be brief."),
        OpeningMessage("system", "Count items."),
        OpeningMessage("user", "Go."),
        OpeningMessage("user", "Now."),
    )
    assert opening_of([]) == ()
