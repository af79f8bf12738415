"""The page on other task families says what its kept rows say."""

from pathlib import Path

import polars as pl

from carryover.tasks.stages.results import EPISODES
from tests.sql.kept_results import RESULTS, kept_table

PROSE = " ".join((RESULTS / "families.md").read_text(encoding="utf-8").split())
README = " ".join((Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8").split())


def table(study, name):
    """The rows of a table of a kept study."""
    return kept_table(study, name).rows(named=True)


def evaluation_of(study):
    """The rows of the trained models' episodes of a kept study."""
    return pl.read_parquet(RESULTS / study / EPISODES).filter(purpose="evaluation", base="scratch")


def test_the_maps_findings_are_those_of_its_cells():
    cells = {row["condition"]: row for row in table("map_exploration", "cells")}
    scripts, models, *_ = table("map_exploration", "side_by_side")
    home, away, stateless = cells["P->P"], cells["P->S"], cells["S->S"]
    ended = f"{home['ended_count']} of {home['episode_count']} P→P episodes end"
    assert f"{ended}, and the mean score is {home['score_pct']:.1f} % of the optimum" in PROSE
    assert f"the script has {scripts['p_on_p_score_pct']:.1f} %" in PROSE
    assert away["missing_name_pct"] == stateless["missing_name_pct"] == 100
    assert f"in {home['missing_name_pct']:.1f} % of the P→P episodes" in PROSE
    ratio, low, high = (models[f"p_on_s_token_ratio{end}"] for end in ("", "_low", "_high"))
    assert f"{ratio:.2f} [{low:.2f}, {high:.2f}] times P→P's tokens" in PROSE
    assert f"{scripts['p_on_s_token_ratio']:.2f} for the script alone" in PROSE
    assert f"{stateless['ended_count']} of {stateless['episode_count']} S→S episodes end" in PROSE
    kept = evaluation_of("map_exploration")
    missed = kept.filter(condition="P->P").group_by("training_seed").agg(pl.col("has_missing_name").mean())
    assert dict(missed.rows()) == {1: 0.57, 2: 0.0}
    assert "57 % with seed 1, none with seed 2" in PROSE
    pair = ["instance_id", "training_seed"]
    normal = kept.filter(finish_category="normal")
    pairs = normal.filter(condition="P->P").join(normal.filter(condition="P->S"), on=pair)
    tokens = pairs.select("total_tokens_right", "total_tokens").sum().row(0)
    assert f"of the {pairs.height} pairs that ended, {tokens[0] / tokens[1]:.2f}" in PROSE
    assert scripts["most_missing_name_pct_elsewhere"] == 0


def test_the_triages_findings_are_those_of_its_cells():
    cells = {row["condition"]: row for row in table("log_triage", "cells")}
    scripts, models, *_ = table("log_triage", "side_by_side")
    repairs = {row["condition"]: row for row in table("log_triage", "repair") if row["model"] == "sft"}
    finished = {row["condition"]: row for row in table("log_triage", "token_sensitivity")}
    interaction = [row for row in table("log_triage", "interaction") if row["analysis"] == "interaction_ratio"]
    interaction = [row for row in interaction if row["base"] == "scratch"]
    home, away = cells["P->P"], cells["P->S"]
    assert home["ended_count"] == away["ended_count"] == home["episode_count"] == 200
    assert round(home["score_pct"], 1) == round(away["score_pct"], 1) == round(scripts["p_on_p_score_pct"], 1) == 98.3
    ended = [cells[condition]["ended_count"] for condition in ("S->P", "S->S")]
    assert f"{ended[0]} of 200 S→P and {ended[1]} of 200 S→S ones" in PROSE
    assert away["missing_name_pct"] == 100
    assert models["most_missing_name_pct_elsewhere"] == scripts["most_missing_name_pct_elsewhere"] == 0
    assert repairs["P->S"]["repaired_pct"] == 100
    assert f"after {repairs['P->S']['mean_turns_to_repair']:.2f} turns on average" in PROSE
    ratio, low, high = (models[f"p_on_s_token_ratio{end}"] for end in ("", "_low", "_high"))
    assert f"{ratio:.2f} [{low:.2f}, {high:.2f}] times P→P's tokens" in PROSE
    assert f"{scripts['p_on_s_token_ratio']:.2f} for the scripts" in PROSE
    assert f"S→S {models['s_on_s_token_ratio']:.2f} and S→P {models['s_on_p_token_ratio']:.2f}" in PROSE
    assert "toy models miss a name in every P→S episode and in no other" in README
    told = "{s_on_s_token_ratio:.2f} [{s_on_s_token_ratio_low:.2f}, {s_on_s_token_ratio_high:.2f}]".format(**models)
    assert f"S→S costs {told} times P→P's tokens; a third was learned" in README
    ratios = [finished[condition]["ratio_of_finished"] for condition in ("S->S", "S->P")]
    assert f"of the pairs that ended, {ratios[0]:.2f} and {ratios[1]:.2f}" in PROSE
    shown = {row["interval_kind"]: "{estimate:.2f} [{low:.2f}, {high:.2f}]".format(**row) for row in interaction}
    assert f"{shown['percentile']} over instances, {shown['t over seeds']} over two seeds" in PROSE


def test_the_triages_token_ratio_is_told_per_seed():
    means = evaluation_of("log_triage").group_by("condition", "training_seed").agg(pl.col("total_tokens").mean())
    tokens = {(condition, seed): mean for condition, seed, mean in means.rows()}
    first, second = (tokens["P->S", seed] / tokens["P->P", seed] for seed in (1, 2))
    assert f"{first:.2f} with seed 1, {second:.2f} with seed 2" in PROSE


def test_the_triages_verdicts_are_counted_as_the_page_lists_them():
    listed = PROSE.partition("## log_triage")[2]
    assert "16 hold, 2 do not (imports_follow_the_training, repairs_cost_tokens), 0 without a verdict" in listed
    assert "6 forced by the contract, 10 fulfilled by the scripts alone" in listed
    assert "| repairs_cost_tokens | low > 1.0 | 1.34 [0.98, 1.80] | does not hold |" in listed
    assert (
        "Of 18 claims on log triage 16 hold, 6 of them forced by the contract, the others fulfilled by the scripts"
        in PROSE
    )
    assert "(the interval begins at 0.98)" in PROSE
