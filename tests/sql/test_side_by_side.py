"""Scripts, trained models and the paper by the same columns, and the page that prints them."""

import json
from importlib.resources import files
from itertools import product
from pathlib import Path

import polars as pl
import pytest

from carryover.tasks.traces.study_rows import RunRow
from tests.sql.kept_results import kept_table
from tests.storage.conftest import build_row

FOLDER = Path(str(files("carryover.sql") / "results" / "laptop_full"))
PAGE = (FOLDER.parent / "side_by_side.md").read_text(encoding="utf-8")
PROSE = " ".join(PAGE.split())
RATIO = {"comparison_group": "against_aligned", "metric": "total_tokens", "train_b": "persistent"}
CROSSED = {"comparison_group": "train_x_runtime", "metric": "total_tokens"}
P_ON_S = {"train_a": "persistent", "runtime_a": "stateless"}


@pytest.fixture(scope="module")
def kept():
    rows = kept_table(FOLDER.name, "side_by_side")
    return {row["player"].removeprefix("laptop, not Qwen3-8B: "): row for row in rows.rows(named=True)}


def shown(row, column):
    return f"{row[column]:.2f} [{row[f'{column}_low']:.2f}, {row[f'{column}_high']:.2f}]"


def test_each_player_has_a_row_of_the_same_columns(warehouse):
    warehouse.run()
    for base, tokens in (("scratch", 3000), ("teacher", 2000)):
        seed = None if base == "teacher" else 0
        warehouse.episode("P->P", "i1", 0.75, base=base, training_seed=seed)
        missed = warehouse.episode("P->S", "i1", 0.5, base=base, training_seed=seed, prompt_tokens=tokens)
        warehouse.error(missed, 1, "NameError: name 'ids' is not defined")
        warehouse.statistic("ratio", **RATIO, **P_ON_S, base=base, estimate=3.0, low=2.0, high=4.0)
        warehouse.statistic("interaction_ratio", **CROSSED, base=base, estimate=0.5, low=0.4, high=0.6)
        kind = "t over seeds"
        wide = {"estimate": 0.5, "low": 0.1, "high": 2.0, "method": kind, "interval_kind": kind}
        warehouse.statistic("interaction_ratio", **CROSSED, base=base, **wide)
    scripts, models, *published = warehouse.table("side_by_side")
    assert scripts["player"] == "laptop, not Qwen3-8B: scripts without a model, small"
    assert models == {
        "player": "laptop, not Qwen3-8B: scratch, small",
        "seed_count": 1,
        "episodes_per_cell": 1,
        "unended_count": 0,
        "p_on_p_score_pct": 75,
        "p_on_s_score_pct": 50,
        "p_on_s_missing_name_pct": 100,
        "most_missing_name_pct_elsewhere": 0,
        "p_on_s_token_ratio": 3,
        "p_on_s_token_ratio_low": 2,
        "p_on_s_token_ratio_high": 4,
        "s_on_p_token_ratio": None,
        "s_on_p_token_ratio_low": None,
        "s_on_p_token_ratio_high": None,
        "s_on_s_token_ratio": None,
        "s_on_s_token_ratio_low": None,
        "s_on_s_token_ratio_high": None,
        "interaction_ratio": 0.5,
        "interaction_ratio_low": 0.1,
        "interaction_ratio_high": 2,
    }
    assert [row["player"] for row in published] == ["Qwen3-8B, as published: easy", "Qwen3-8B, as published: hard"]


@pytest.mark.parametrize(
    ("gpu", "machine"), [({"gpu": None}, ", on a CPU"), ({"gpu": "NVIDIA H200"}, ", on NVIDIA H200"), ({}, "")]
)
def test_pretrained_players_say_their_machine_and_who_counts_tokens(warehouse, gpu, machine):
    plan = json.dumps({"parts": [{"base": "hub", "training": {"base_model": "a/model", "base_title": "Model"}}]})
    told = {"run_id": "run", "plan_digest": "plan", "plan_json": plan, "environment_json": json.dumps(gpu)}
    warehouse.add(build_row(RunRow, scale="pretrained", flow="reproduce_study", **told))
    elsewhere = {**told, "run_id": "night", "environment_json": json.dumps({"gpu": "a night's"})}
    warehouse.add(build_row(RunRow, scale="pretrained", flow="reevaluate_model", **elsewhere))
    for cell, script in (("P->P", "scripted-persistent"), ("S->S", "scripted-stateless")):
        warehouse.episode(cell, base="hub", scale="pretrained")
        warehouse.episode(cell, base="teacher", training_seed=None, scale="pretrained", model_name=script)
    assert [row["player"] for row in warehouse.table("side_by_side")[:2]] == [
        "pretrained, tokens of Model: scripts without a model, small",
        f"pretrained, Model{machine}: hub, small",
    ]
    buckets = {row["base"]: row["measured_on"] for row in warehouse.sql("from marts.evaluated_buckets")}
    assert buckets == {"hub": "pretrained, Model", "teacher": "pretrained, scripts"}


def test_no_two_players_of_the_page_share_a_name():
    players = [
        line.split("|")[1].strip() for line in PAGE.splitlines() if line.startswith(("| laptop", "| pretrained"))
    ]
    assert len(players) == len({*players}) == 11


def test_published_rows_are_ratios_of_the_printed_means(warehouse):
    easy, hard = warehouse.table("side_by_side")
    cells = pl.DataFrame(warehouse.sql("select * from staging.published_cells where model = 'sft'"))
    for row, split in ((easy, "easy"), (hard, "hard")):
        of_split = cells.filter(split=split)
        tokens = {
            (train, runtime): of_split.filter(train_semantics=train, runtime_semantics=runtime)["mean_total_tokens"][0]
            for train, runtime in product(("persistent", "stateless"), repeat=2)
        }
        at_home = tokens["persistent", "persistent"]
        across = tokens["persistent", "stateless"] / at_home
        assert row["p_on_s_token_ratio"] == pytest.approx(across, abs=1e-6)
        expected = tokens["stateless", "stateless"] / tokens["stateless", "persistent"] / across
        assert row["interaction_ratio"] == pytest.approx(expected, abs=1e-6)
        assert row["interaction_ratio_low"] is None


def test_the_page_says_what_the_rows_say(kept):
    scripts = kept["scripts without a model, small"]
    scratch = kept["scratch, small"]
    common = kept["common, small"]
    assert (
        f"{shown(scratch, 'interaction_ratio')} from scratch and {shown(common, 'interaction_ratio')} with adapters, "
        f"and {shown(scripts, 'interaction_ratio')} without any model"
    ) in PROSE
    assert f"{scratch['unended_count']} and {common['unended_count']} episodes that do not end" in PROSE
    easy = kept["Qwen3-8B, as published: easy"]
    hard = kept["Qwen3-8B, as published: hard"]
    assert {row["p_on_s_missing_name_pct"] for row in (scripts, scratch, common)} == {100}
    assert f"on Hard in {hard['p_on_s_missing_name_pct']:.0f} %" in PROSE
    assert f"falls from {hard['p_on_p_score_pct']:.1f} to {hard['p_on_s_score_pct']:.1f} %" in PROSE
    assert all(row["p_on_s_score_pct"] >= row["p_on_p_score_pct"] for row in (scratch, common))
    at_home = "S→S costs {:.2f} and {:.2f} times P→P's tokens there, {} here from scratch"
    ratios = easy["s_on_s_token_ratio"], hard["s_on_s_token_ratio"], shown(scratch, "s_on_s_token_ratio")
    assert at_home.format(*ratios) in PROSE
    assert not any("hub" in player for player in kept)
