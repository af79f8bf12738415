"""Repair after a missing name, exact rows worked out by hand."""

import pytest

from tests.sql.hand_made import OURS
from tests.sql.kept_results import kept_table

LOST = "NameError: name 'ids' is not defined"


def row_of(warehouse, condition):
    (row,) = [row for row in warehouse.table("repair") if row["condition"] == condition]
    return row


def test_repair_is_counted_from_the_first_miss_to_a_clean_block(warehouse):
    repaired = warehouse.episode("P->S", "i1", score=0.8)
    warehouse.steps(repaired, [("look()", ()), ("look()", ()), ("x = 1", ("x",)), ("finish()", ())])
    for turn in (1, 2):
        warehouse.error(repaired, turn, LOST)
    lost = warehouse.episode("P->S", "i2", score=0.2, finish_reason="max_turns", step_count=2)
    warehouse.steps(lost, [("look()", ()), ("look()", ())])
    for turn in (1, 2):
        warehouse.error(lost, turn, LOST)
    warehouse.episode("P->S", "i3", score=1.0)
    row = row_of(warehouse, "P->S")
    assert row == OURS | {
        "variant": "main",
        "base": "common",
        "visibility": "declared",
        "header": "names",
        "bucket": "small",
        "model": "sft",
        "condition": "P->S",
        "episode_count": 3,
        "affected_episode_count": 2,
        "repaired_pct": 50.0,
        "mean_turns_to_repair": 2.0,
        # one block in the first episode's three later ones, and the second's one, repeats the block before
        "affected_repeated_block_pct": 50.0,
        "affected_ended_pct": 50.0,
        "affected_score_pct": pytest.approx(50.0),
        "unaffected_score_pct": 100.0,
        # the scores' standard deviation is 0.4163
        "detectable_score_points": pytest.approx(280 * 0.41633 * (2 / 3) ** 0.5, rel=1e-3),
    }


def test_cells_of_one_score_tell_no_detectable_difference(warehouse):
    for instance in ("i1", "i2"):
        warehouse.episode("P->S", instance, score=0.0)
    assert row_of(warehouse, "P->S")["detectable_score_points"] is None


def test_rows_kept_without_their_steps_tell_no_repair():
    rows = kept_table("laptop_full", "repair").filter(condition="P->S", base="scratch", variant="main")
    assert rows.height > 1
    for row in rows.rows(named=True):
        assert row["affected_episode_count"] == row["episode_count"]
        assert (row["repaired_pct"], row["affected_repeated_block_pct"]) == (None, None)


def test_cells_without_a_miss_have_nothing_to_repair(warehouse):
    warehouse.episode("P->P", "i1")
    row = row_of(warehouse, "P->P")
    assert (row["affected_episode_count"], row["repaired_pct"], row["mean_turns_to_repair"]) == (0, None, None)
