"""What rows work out of their values."""

from contextlib import nullcontext

import pytest
from pydantic import ValidationError

from carryover.tasks.traces.result_rows import ClaimRow
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


CLAIM = {
    "run_id": "run", "paper": "2603.01209", "claim": "c", "place": "Table 1", "published": "1", "recomputed": "1",
    "verdict": "holds",
}  # fmt: skip


@pytest.mark.parametrize(
    ("given", "is_refused"),
    [
        ({"tolerance": 0.1}, False),
        ({"tolerance": None, "no_tolerance_reason": "words"}, False),
        ({"tolerance": None}, True),
        ({"tolerance": 0.1, "no_tolerance_reason": "words"}, True),
    ],
)
def test_a_claim_has_a_tolerance_or_a_reason_for_none(given, is_refused):
    with pytest.raises(ValidationError, match="'c' needs either") if is_refused else nullcontext():
        ClaimRow.model_validate(CLAIM | given)


def test_a_claim_is_what_it_was_given():
    given = CLAIM | {"tolerance": 0.1}
    assert ClaimRow.model_validate(given).model_dump(exclude_unset=True) == given


def test_what_is_no_row_is_refused():
    with pytest.raises(ValidationError, match="valid dictionary or instance of EpisodeRow"):
        EpisodeRow.model_validate("a row")


def test_a_row_is_taken_as_it_is():
    row = build_row(EpisodeRow, token_source="server", prompt_tokens=100, completion_tokens=20)
    assert EpisodeRow.model_validate(row) == row
