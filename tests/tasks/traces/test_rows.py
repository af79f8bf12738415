"""What rows work out of their values."""

import pytest

from carryover.tasks.traces.rows import EpisodeRow
from tests.storage.conftest import build_row


@pytest.mark.parametrize(
    ("source", "prompt", "completion", "total"),
    [
        ("server", 100, 20, 120),
        ("server", 100, 0, 100),
        ("imported", 100, 20, 120),
        ("imported", 100, 0, None),
        ("imported", 0, 20, None),
    ],
)
def test_tokens_add_up_where_both_were_counted(source, prompt, completion, total):
    """Of an imported trace a zero means that nobody counted."""
    row = build_row(EpisodeRow, token_source=source, prompt_tokens=prompt, completion_tokens=completion)
    assert row.total_tokens == total
