"""The page on the mixture says what its kept rows say."""

import polars as pl
import pytest

from carryover.tasks.stages.results import EPISODES
from tests.sql.kept_results import RESULTS, kept_table

PAGE = (RESULTS / "mixture.md").read_text(encoding="utf-8")
PROSE = " ".join(PAGE.split())
README = " ".join((RESULTS.parents[1] / "README.md").read_text(encoding="utf-8").split())
SHARES = (0.0, 0.1, 0.5, 1.0)
MIXED = SHARES[1:3]
MISSED = "missing_name_episode_pct"


@pytest.fixture(scope="module")
def cells():
    """The table's rows by declaration, share of the other contract and condition."""
    rows = kept_table("mixture", "mixture").rows(named=True)
    return {(row["is_declared"], row["other_share"], row["condition"]): row for row in rows}


@pytest.fixture(scope="module")
def missed_by_seed():
    """Percentages of a variant's episodes that miss a name, by variant, condition and seed."""
    kept = pl.read_parquet(RESULTS / "mixture" / EPISODES, glob=False)
    played = kept.filter(purpose="evaluation", base="scratch", is_counted=True)
    shares = played.group_by("variant", "condition", "training_seed").agg(100 * pl.col("has_missing_name").mean())
    return {(variant, condition, seed): share for variant, condition, seed, share in shares.rows()}


def listed(cells, column, form, condition, *, is_declared=True, shares=SHARES):
    *first, last = (form.format(cells[is_declared, share, condition][column]) for share in shares)
    return f"{', '.join(first)} and {last}"


def test_a_declared_prompt_wins_with_half_and_mostly_with_a_tenth(cells, missed_by_seed):
    told = listed(cells, MISSED, "{:.1f}", "P->S")
    assert f"Of the P→S episodes, {told} % miss a name with 0, 10, 50 and 100 %." in PROSE
    *none, most = sorted(missed_by_seed["mixture-10", "P->S", seed] for seed in (1, 2, 3))
    assert none == [0, 0]
    assert f"two seeds miss none and the third misses one in {most:.1f} % of its episodes" in PROSE


def test_it_costs_little_at_home(cells):
    ratios = {
        cell: listed(cells, "ratio_to_unmixed", "{:.2f}", cell, shares=MIXED) for cell in ("P->P", "S->S", "S->P")
    }
    assert f"P→P costs {ratios['P->P']} times the tokens of no mixture, S→S {ratios['S->S']} times" in PROSE
    scores = listed(cells, "score_pct", "{:.1f}", "P->P", shares=(0.0, *MIXED))
    assert f"P→P scores {scores} % with 0, 10 and 50 %" in PROSE


def test_models_of_stateless_traces_use_what_is_kept(cells, missed_by_seed):
    ratios = listed(cells, "ratio_to_unmixed", "{:.2f}", "S->P", shares=MIXED)
    assert f"S→P costs {ratios} times what it cost without a mixture" in PROSE
    assert f"misses a name in {cells[True, 0.1, 'S->P'][MISSED]:.1f} % of its episodes, all of one seed" in PROSE
    assert sorted(missed_by_seed["mixture-10", "S->P", seed] > 0 for seed in (1, 2, 3)) == [False, False, True]


def test_without_a_declared_contract_half_spoil_both_homes(cells):
    told = listed(cells, MISSED, "{:.1f}", "P->S", is_declared=False)
    assert f"P→S misses a name in {told} % of its episodes" in PROSE
    stateless, persistent = (cells[False, 0.5, cell] for cell in ("S->S", "P->P"))
    assert f"S→S misses a name in {stateless[MISSED]:.1f} % of its episodes" in PROSE
    assert f"P→P costs {persistent['ratio_to_unmixed']:.2f} times as much" in PROSE


@pytest.mark.parametrize("is_declared", [True, False])
@pytest.mark.parametrize(
    ("without", "exchanged"), [("P->P", "S->P"), ("P->S", "S->S"), ("S->P", "P->P"), ("S->S", "P->S")]
)
def test_all_of_them_exchange_the_models(cells, is_declared, without, exchanged):
    assert "each cell has the tokens and the missing names of the other contract's model without a mixture" in PROSE
    before, after = cells[is_declared, 0.0, without], cells[is_declared, 1.0, exchanged]
    assert (before["mean_total_tokens"], before[MISSED]) == (after["mean_total_tokens"], after[MISSED])


def test_claims_that_no_script_fulfils_are_told():
    assert "8 distinct claims in 12 verdicts: 8 hold, 0 do not, 0 without a verdict" in PROSE
    assert "3 by the models and not by the scripts" in PROSE
    for claim in ("tenth_follows_the_prompt", "half_follows_the_prompt", "all_swaps_the_models"):
        (line,) = {line for line in PAGE.splitlines() if f"| mixture_{claim} " in line and "| not fulfilled |" in line}
        assert "| holds |" in line
    assert "All eight claims hold. Three of them no script fulfils" in PROSE


def test_the_readme_tells_the_finding(cells):
    told = listed(cells, MISSED, "{:.0f}", "P->S", shares=(0.0, *MIXED))
    assert f"with 0, 10 and 50 % of them, {told} % of P→S episodes miss a name" in README
