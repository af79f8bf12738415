"""The count of tokens that needs no tokenizer: words by six letters, numbers by three digits, signs one by one."""

import pytest

from carryover.tasks.agent.protocol import FunctionCall, Message
from carryover.tasks.cave.arms.tokens import count_messages, count_reply, count_text


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("total", 1), ("extraordinary", 3), ("123", 1), ("1234567", 3), ("a + b", 3), ("rows[12] = 1.5", 8)],
)
def test_text_counts_letters_digits_and_signs_apart(text, tokens):
    assert count_text(text) == tokens


@pytest.mark.parametrize(
    ("text", "tokens"), [("abcdef", 1), ("abcdefg", 2), ("1234", 2), ("snake_case", 3), ("a\n\nb", 4)]
)
def test_every_six_letters_and_three_digits_begin_a_token(text, tokens):
    assert count_text(text) == tokens


def test_a_conversation_counts_messages_calls_and_functions():
    call = FunctionCall("c1", "read", "{}")
    assert count_reply("Now.", [call, call]) == 2 + 2 * (2 + 1 + 2)
    said = [Message(role="user", content="Go on."), Message(role="assistant", content="Now.", tool_calls=(call,))]
    assert count_messages(said) == (3 + 4) + (2 + 5 + 4)
    assert count_messages(said, [{"name": "read"}, {}]) == 18 + 9 + 2
