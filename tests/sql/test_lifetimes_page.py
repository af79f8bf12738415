"""The page on lifetimes says what its kept rows say."""

import polars as pl
import pytest

from carryover.tasks.stages.results import EPISODES
from tests.sql.kept_results import RESULTS, kept_table

PROSE = " ".join((RESULTS / "lifetimes.md").read_text(encoding="utf-8").split())
LIFETIMES = ("0", "1", "3", "all")


@pytest.fixture(scope="module")
def cells():
    """The table's rows by visibility, trained lifetime and lifetime at run time."""
    rows = kept_table("lifetimes", "lifetimes").rows(named=True)
    return {(row["visibility"], row["trained_blocks"], row["played_blocks"]): row for row in rows}


def listed(values):
    *first, last = values
    return f"{', '.join(first)} and {last}"


def test_missing_names_grow_as_names_live_shorter(cells):
    persistent = [cells["declared", "all", lifetime] for lifetime in LIFETIMES]
    missed = listed(f"{cell['missing_names_per_episode']:.2f}" for cell in persistent)
    by_script = listed(f"{cell['script_missing_names']:.2f}" for cell in persistent)
    assert f"persistent traces miss {missed} names per episode" in PROSE
    assert f"the script misses {by_script}." in PROSE
    away, home = (cells["declared", "3", lifetime]["missing_name_episode_pct"] for lifetime in ("1", "3"))
    assert f"trained at 3 blocks miss a name in {away:.1f} % of the episodes at 1, and in {home:.1f} % at home" in PROSE


def test_tokens_fall_with_the_lifetime_of_training_alone(cells):
    home = listed(f"{cells['declared', lifetime, lifetime]['mean_total_tokens']:,.0f}" for lifetime in LIFETIMES)
    assert f"At home, episodes cost {home} tokens" in PROSE
    stateless = [cells["declared", "0", lifetime]["mean_total_tokens"] for lifetime in LIFETIMES]
    assert f"stay between {min(stateless):,.0f} and {max(stateless):,.0f} tokens" in PROSE


def test_one_cell_leaves_its_script_by_the_prompt(cells):
    told, trained = (cells[visibility, "1", "0"] for visibility in ("declared", "as_trained"))
    assert f"miss {told['missing_names_per_episode']:.2f} names per episode in the stateless runtime" in PROSE
    assert f"cost {told['mean_total_tokens']:,.0f} tokens; the script misses" in PROSE
    assert f"misses {told['script_missing_names']:.2f} and costs {told['script_tokens']:,.0f}" in PROSE
    missed, tokens = trained["missing_names_per_episode"], trained["mean_total_tokens"]
    assert f"miss {missed:.2f} and cost {tokens:,.0f}." in PROSE
    kept = pl.read_parquet(RESULTS / "lifetimes" / EPISODES).filter(
        purpose="evaluation", base="scratch", visibility="declared", condition="recent-1->S"
    )
    shares = kept.group_by("training_seed").agg(pl.col("has_missing_name").mean())["has_missing_name"]
    assert sorted(round(share, 2) for share in shares) == [0.12, 1.0, 1.0]
    assert "One of the three seeds missed a name in 12 % of its episodes, the others in all." in PROSE


def test_claims_that_fail_are_those_that_the_page_explains():
    assert "13 hold, 3 do not (lifetimes_recent_1_breaks_under_s, lifetimes_recent_1_holds_under_recent_3," in PROSE
    assert "lifetimes_unused_life_saves_nothing), 0 without a verdict" in PROSE
    assert "of those that hold: 13 fulfilled by the scripts alone" in PROSE
    assert "Of 16 claims 13 hold, all fulfilled by the scripts alone." in PROSE
    assert "| lifetimes_recent_1_holds_under_recent_3 | estimate <= 0.05 | 0.51 [0.00, 0.84] | does not hold |" in PROSE
