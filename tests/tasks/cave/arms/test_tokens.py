"""The count of tokens that needs no tokenizer: words by six letters, numbers by three digits, signs one by one."""

import pytest

from carryover.tasks.cave.arms.tokens import count_text


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("total", 1), ("extraordinary", 3), ("123", 1), ("1234567", 3), ("a + b", 3), ("rows[12] = 1.5", 8)],
)
def test_text_counts_letters_digits_and_signs_apart(text, tokens):
    assert count_text(text) == tokens
