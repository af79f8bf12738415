"""The page on reinforcement says what its kept rows say."""

import polars as pl
import pytest

from carryover.tasks.plans.hypotheses import read_hypotheses
from carryover.tasks.plans.reinforced import REINFORCEMENT
from carryover.tasks.stages.results import STATISTICS, read_plans
from carryover.tasks.traces.result_rows import StatisticRow
from tests.sql.kept_results import RESULTS, kept_table

PROSE = " ".join((RESULTS / "reinforcement.md").read_text(encoding="utf-8").split())


@pytest.fixture(scope="module")
def tables():
    """The rows of the tables `cells`, by variant and cell, and `reinforcement`, by contract of training and runtime."""
    cells = kept_table("laptop_rl", "cells").rows(named=True)
    trainings = kept_table("laptop_rl", "reinforcement").rows(named=True)
    return (
        {(row["variant"], row["condition"]): row for row in cells},
        {(row["train_contract"], row["runtime_contract"]): row for row in trainings},
    )


def tokens(cell):
    return f"{cell['mean_tokens']:,.0f} tokens"


def test_the_page_tells_the_settings_of_the_run():
    spec = REINFORCEMENT["laptop"]
    assert spec.episodes_per_update == 32
    assert (spec.instances_per_update, spec.episodes_per_instance, spec.most_updates) == (4, 8, 30)
    assert f"at temperature {spec.temperature:g}" in PROSE
    assert f"less {spec.turn_price:g} per reply" in PROSE
    assert f"at most {spec.missed_share:.0%}".replace("%", " %") in PROSE
    assert (spec.least_updates, spec.judged_updates) == (10, 2)


def test_every_episode_of_the_persistent_model_missed_a_name(tables):
    cells, trainings = tables
    updates = pl.read_parquet(RESULTS / "laptop_rl" / "policy_updates.parquet")
    away = updates.filter(train_contract="persistent", runtime_contract="stateless")
    assert away["missed_share"].unique().to_list() == [1.0]
    training = trainings["persistent", "stateless"]
    assert f"In {training['update_count']} updates" in PROSE
    assert f"played {training['played_episode_count']} episodes and missed a name in every one" in PROSE
    before, after = cells["main", "P->S"], cells["rl-other", "P->S"]
    assert f"in {after['missing_name_pct']:.1f} % of the P→S episodes, at {tokens(after)}" in PROSE
    assert f"where it took {before['mean_tokens']:,.0f}, and {after['ended_count']} of 100 end" in PROSE


def test_updates_elsewhere_cost_nothing_at_home(tables):
    cells, trainings = tables
    before, after = cells["main", "P->P"], cells["rl-other", "P->P"]
    assert f"P→P takes {tokens(after)}, from {before['mean_tokens']:,.0f}, at the same score" in PROSE
    assert before["score_pct"] == pytest.approx(after["score_pct"])
    assert f"({after['state_utilization']:.2f})" in PROSE
    assert before["state_utilization"] == pytest.approx(after["state_utilization"])
    assert f"ended after {trainings['stateless', 'persistent']['update_count']} updates, the fewest" in PROSE
    before, after = cells["main", "S->P"], cells["rl-other", "S->P"]
    assert f"S→P takes {tokens(after)}, from {before['mean_tokens']:,.0f}, and still uses no state" in PROSE
    assert after["state_utilization"] == 0
    assert "| rl_other_s_saves_nothing_under_p | low > 0.9091 and high < 1.1111 | 0.97 [0.95, 0.99] | holds |" in PROSE
    assert "S→S over S→P is 0.97 [0.95, 0.99]" in PROSE


def test_updates_at_home_cost_elsewhere(tables):
    cells, _ = tables
    home, away = (cells["rl-own", cell] for cell in ("P->P", "P->S"))
    assert f"P→P falls to {tokens(home)} at the same score, with {home['state_utilization']:.2f} reuses" in PROSE
    assert home["score_pct"] == pytest.approx(cells["main", "P->P"]["score_pct"])
    endless = away["episode_count"] - away["ended_count"]
    assert f"P→S rises to {tokens(away)}: {endless} of its 100 episodes do not end" in PROSE
    assert f"those that end take {away['mean_tokens_of_ended']:,.0f}." in PROSE


def test_updates_at_home_hurt_the_stateless_model_at_their_temperature(tables):
    cells, trainings = tables
    training = trainings["stateless", "stateless"]
    first, last = (f"{training[f'{which}_score_pct']:.1f} %" for which in ("first", "last"))
    assert f"{last} in its last update, from {first} in its first" in PROSE
    updates = pl.read_parquet(RESULTS / "laptop_rl" / "policy_updates.parquet")
    own = updates.filter(train_contract="stateless", runtime_contract="stateless").sort("policy_update")
    endless = own["unfinished_share"]
    assert f"{endless[-1]:.1%} of the episodes do not end, from {endless[0]:.1%}.".replace("%", " %") in PROSE
    before, after = cells["main", "S->S"], cells["rl-own", "S->S"]
    (plan,) = read_plans(RESULTS / "laptop_rl")
    (played,) = plan.plan["parts"][0]["evaluations"]
    assert f"Evaluated at temperature {played['episode']['temperature']}, S→S takes" in PROSE
    mean = "{mean_tokens:,.0f} [{mean_tokens_low:,.0f}, {mean_tokens_high:,.0f}]"
    assert f"S→S takes {mean.format(**after)} tokens, from {mean.format(**before)}:" in PROSE
    assert f": {100 - after['ended_count']} of its 100 episodes do not end, and those that end take" in PROSE
    assert f"and those that end take {after['mean_tokens_of_ended']:,.0f}." in PROSE


def test_one_claim_of_six_fails():
    assert PROSE.count("| rl_o") == 6
    assert "41 verdicts: 40 hold, 1 does not (rl_other_p_keeps_names_under_s), 0 without a verdict" in PROSE
    assert "Of the six claims on reinforcement five hold; the first does not." in PROSE


def test_the_claims_that_hold_do_so_before_any_update():
    frame = pl.read_parquet(RESULTS / "laptop_rl" / STATISTICS).filter(variant="main", base="scratch")
    statistics = [StatisticRow.model_validate(row) for row in frame.to_dicts()]
    held = {}
    for claim in read_hypotheses().hypothesis:
        if claim.name.startswith("rl_"):
            on_main = claim.model_copy(update={"variants": ("main",)})
            rows = [row for row in statistics if on_main.reads(row)]
            held[claim.name] = all(criterion.holds(rows) for criterion in claim.criteria)
    assert [name for name, is_held in held.items() if not is_held] == ["rl_other_p_keeps_names_under_s"]
    assert len(held) == 6
    assert "The five hold of the models before any update too" in PROSE
