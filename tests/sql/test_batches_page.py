"""The page on the teacher's batch says what its kept rows say."""

import polars as pl
import pytest

from carryover.tasks.stages.results import EPISODES
from tests.sql.kept_results import RESULTS, kept_table

PROSE = " ".join((RESULTS / "batches.md").read_text(encoding="utf-8").split())
BATCHES = ("1", "3", "all")


@pytest.fixture(scope="module")
def cells():
    """The table's rows by batch and condition."""
    rows = kept_table("batches", "batches").rows(named=True)
    return {(row["batch"], row["condition"]): row for row in rows}


@pytest.fixture(scope="module")
def played():
    kept = pl.read_parquet(RESULTS / "batches" / EPISODES)
    return kept.filter(purpose="evaluation", base="scratch", is_counted=True)


def listed(values):
    *first, last = (f"{value:.2f}" for value in values)
    return f"{', '.join(first)} and {last}"


def test_models_follow_their_scripts(cells):
    away = [cells[batch, "P->S"] for batch in BATCHES]
    trained, by_script = (
        listed(row[column] for row in away) for column in ("interaction_ratio", "script_interaction_ratio")
    )
    assert f"the ratio of ratios on tokens is {trained}; the scripts' is {by_script}" in PROSE
    missed, by_script = (
        listed(row[column] for row in away) for column in ("trained_missing_names", "script_missing_names")
    )
    assert f"misses {missed} names; the script's {by_script}" in PROSE


def test_episodes_without_an_end_part_a_model_from_its_script(cells, played):
    away = played.filter(variant="batch-all", condition="P->S")
    endless = away.filter(pl.col("finish_reason") != "finish_tool")
    assert set(endless["finish_reason"]) == {"max_turns"}
    assert set(endless["training_seed"]) == {1}
    assert f"{endless.height} of {away.height} P→S episodes, all of seed 1, reach the limit of turns" in PROSE
    row = cells["all", "P->S"]
    ended = away.filter(finish_reason="finish_tool")["total_tokens"].mean()
    said = f"{row['trained_tokens']:,.0f} tokens with them and {ended:,.0f} without"
    assert f"{said}; the script's {row['script_tokens']:,.0f}" in PROSE
    low, high = row["interaction_ratio_low"], row["interaction_ratio_high"]
    assert f"interval to [{low:.2f}, {high:.2f}]" in PROSE


def test_stateless_models_leave_their_scripts_more_often(played):
    control = kept_table("batches", "script_control").filter(metric="total_tokens")
    equal = {
        letter: sum(
            round(row["equal_pct"] * row["pair_count"] / 100)
            for row in control.rows(named=True)
            if row["condition"].startswith(letter)
        )
        for letter in "PS"
    }
    pairs = {letter: played.filter(pl.col("condition").str.starts_with(letter)).height for letter in "PS"}
    assert f"misses and score in {equal['S']} of {pairs['S']:,} episodes" in PROSE
    assert f"those of persistent traces in {equal['P']} of {pairs['P']:,}" in PROSE
    home = played.filter(variant="batch-3", condition="S->S").group_by("training_seed")
    tokens = home.agg(pl.col("total_tokens").mean())["total_tokens"].to_list()
    assert f"cost between {min(tokens):,.0f} and {max(tokens):,.0f} tokens at home" in PROSE


def test_the_claim_that_fails_is_the_one_that_the_page_explains():
    assert "4 hold, 1 does not (batch_all_reverses), 0 without a verdict" in PROSE
    assert "of those that hold: 4 fulfilled by the scripts alone" in PROSE
    assert "Of five claims four hold, all fulfilled by the scripts alone" in PROSE
