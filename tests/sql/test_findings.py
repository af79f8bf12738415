"""The figures in the prose of the findings are those of the kept rows."""

import re
from functools import cache
from importlib.resources import files
from pathlib import Path

import polars as pl
import pytest
from scipy import stats

from storage.results import EPISODES, STATISTICS, open_results
from tasks.analysis.queries import table_query

FOLDER = Path(str(files("sql") / "results" / "laptop_full"))
PAGE = (FOLDER.parent / "README.md").read_text(encoding="utf-8")
FINDINGS = " ".join(PAGE.split())
README = " ".join((FOLDER.parents[2] / "README.md").read_text(encoding="utf-8").split())
CELLS = ["P->P", "P->S", "S->S", "S->P"]
MAIN = {"variant": "main", "base": "scratch", "visibility": "declared", "bucket": "small"}


@cache
def evaluated() -> pl.DataFrame:
    kept = pl.read_parquet(FOLDER / EPISODES)
    return kept.filter(pl.col("train_contract").is_not_null(), purpose="evaluation", is_counted=True)


@cache
def table(name: str) -> pl.DataFrame:
    with open_results(FOLDER) as results:
        return results.sql(table_query(name).sql, plan_digest=FOLDER.name).polars()


def means(metric: str, **where: str | int) -> dict[str, float]:
    rows = evaluated().filter(**{**MAIN, **where}).group_by("condition").agg(pl.col(metric).mean()).rows()
    return dict(rows)


def interactions(**where: str) -> list[float]:
    """Return the interaction on tokens of each training seed."""
    seeds = [means("total_tokens", training_seed=seed, **where) for seed in (1, 2, 3)]
    return [cells["P->P"] - cells["P->S"] - cells["S->P"] + cells["S->S"] for cells in seeds]


def trained_on(metric: str, **where: str) -> tuple[float, float]:
    rows = table("table_05").filter(metric=metric, **where)
    ((persistent, stateless),) = rows.select("persistent", "stateless").rows()
    return persistent, stateless


OTHERS = ({"bucket": "small_large"}, {"base": "common"}, {"base": "common", "bucket": "small_large"})


@pytest.mark.parametrize("where", [{}, *OTHERS, {"variant": "shuffled-labels"}])
def test_t_intervals_over_the_seeds(where):
    values = pl.Series(interactions(**where))
    mean, error = values.mean(), values.std() / len(values) ** 0.5  # pyright: ignore
    low, high = stats.t.interval(0.95, len(values) - 1, mean, error)
    assert f"{mean:,.0f} [{low:,.0f}, {high:,.0f}]" in FINDINGS


def _bootstrapped(analysis: str, metric: str, **where: str) -> tuple[float, float, float]:
    rows = pl.read_parquet(FOLDER / STATISTICS).filter(
        analysis=analysis, metric=metric, interval_kind="percentile", **{**MAIN, **where}
    )
    ((estimate, low, high),) = rows.select("estimate", "low", "high").rows()
    return estimate, low, high


def test_bootstrap_intervals_in_the_prose():
    effect = "{:,.0f} [{:,.0f}, {:,.0f}]".format(*_bootstrapped("interaction", "total_tokens"))
    assert f"over three seeds ({effect})" in README
    control = _bootstrapped("interaction", "total_tokens", variant="shuffled-labels")
    assert "by {:,.0f} [{:,.0f}, {:,.0f}] with halves".format(*control) in FINDINGS
    end_to_end = {"comparison_group": "end_to_end", "base": "common", "bucket": "small_large"}
    points = (100 * end for end in _bootstrapped("equivalence", "score", **end_to_end))
    assert "equivalence not shown ({:.1f} [{:.1f}, {:.1f}] points)".format(*points) in FINDINGS


def test_shuffled_labels_seed_by_seed():
    first, second, third = interactions(variant="shuffled-labels")
    assert f"({first:,.0f}, {second:,.0f} and {third:,.0f}, where the effect is" in FINDINGS


def test_two_models_of_one_contract():
    contrasts = table("seed_contrasts").filter(header="names", **MAIN)["contrast_difference"].abs()
    assert f"differ by {contrasts.min():,.0f} to {contrasts.max():,.0f} in the same contrast" in FINDINGS


@pytest.mark.parametrize("base", ["common", "scratch"])
def test_scores_where_the_inspection_budget_was_spent_and_where_it_was_not(base):
    place = ["training_seed", "instance_id"]
    cells = evaluated().filter(**{**MAIN, "base": base, "bucket": "small_large"})
    pairs = cells.filter(condition="P->P").join(cells.filter(condition="S->S"), on=place, validate="1:1")
    spent = pairs.filter(pl.col("inspection_budget_use") == 1)
    kept = pairs.filter(pl.col("inspection_budget_use") < 1)
    persistent, stateless = (f"{100 * kept[name].mean():.1f}" for name in ("score", "score_right"))  # pyright: ignore
    both = {f"{100 * spent[name].mean():.1f}" for name in ("score", "score_right")}  # pyright: ignore
    said = {
        "common": f"the {spent.height} of {pairs.height} pairs where P→P spent the whole budget both cells score "
        f"{both.copy().pop()}; in the other {kept.height} P→P scores {persistent} and S→S {stateless}.",
        "scratch": f"P→P scores {persistent} against {stateless} in the {kept.height} pairs where budget was left, "
        f"{both.copy().pop()} in both",
    }
    assert len(both) == 1
    assert said[base] in FINDINGS


def test_a_mistake_that_costs_score():
    cells = evaluated().filter(variant="costly").group_by("condition").agg(pl.col("score").mean() * 100)
    scores = dict(cells.rows())
    assert ", ".join(f"{cell.replace('->', '→')} {scores[cell]:.1f}" for cell in CELLS) in FINDINGS


def test_training_that_shows_no_faults_is_shorter():
    with_faults, without = (trained_on("total_sequence_tokens", variant=name)[0] for name in ("main", "no-faults"))
    assert f"That training has {100 - 100 * without / with_faults:.0f} % fewer tokens" in FINDINGS


def test_arms_that_are_equal_in_tokens_differ_in_faults():
    persistent, stateless = trained_on("injected_faults", variant="main")
    assert f"({stateless:,.0f} of {persistent:,.0f})" in FINDINGS
    persistent, stateless = trained_on("total_sequence_tokens", variant="main")
    assert f"{persistent:,.0f} and {stateless:,.0f} tokens, chat template included" in FINDINGS


def test_the_tax_of_the_table_and_of_half_of_the_training():
    same_seed, without, half = (
        means("total_tokens", **where)
        for where in ({"training_seed": 1}, {"variant": "no-table"}, {"variant": "half-training"})
    )
    tax, less = (cells["S->S"] / cells["P->P"] for cells in (same_seed, without))
    assert f"costs {less:.2f} times P→P without the table, {tax:.2f} with it" in FINDINGS
    assert f"({half['S->S']:,.0f} against {same_seed['S->S']:,.0f})" in FINDINGS


def test_the_table_s_shorter_traces_are_more():
    without, with_table = (trained_on("retained", variant=name)[1] for name in ("no-table", "main"))
    assert f"{without:.0f} stateless ones against {with_table:.0f} (Table 5)" in FINDINGS


def test_a_header_without_names_is_cheaper_at_home():
    named, nameless = (
        means("total_tokens", **where)["P->P"] for where in ({"training_seed": 1}, {"variant": "header-none"})
    )
    assert f"P→P's tokens fall from {named:,.0f} to {nameless:,.0f}" in FINDINGS


def test_tests_of_replicates_that_were_made_and_that_could_not_be():
    rows = pl.read_parquet(FOLDER / "statistics.parquet").filter(analysis="replicates")
    made = rows.filter(pl.col("p_value").is_not_null())
    rejected = made.filter(pl.col("p_value") < 0.05).height
    assert f"{rejected} of {made.height} tests reject at 0.05. {rows.height - made.height} more could not" in FINDINGS


def test_episodes_as_trained_are_those_of_the_model_s_own_contract_but_for_one():
    cells = evaluated().filter(variant="main", visibility="as_trained")
    place = ["base", "bucket", "training_seed", "instance_id"]
    pairs = cells.filter(condition="S->P").join(cells.filter(condition="S->S"), on=place, validate="1:1")
    unlike = pairs.filter(pl.col("total_tokens") != pl.col("total_tokens_right")).height
    assert (unlike, f"{pairs.height:,}") == (1, "1,200")
    assert "but for one of 1,200 episodes" in FINDINGS


def test_a_list_that_differs_from_the_last_one_that_was_printed_is_miscopied(warehouse):
    (counts,) = re.findall(r"```sql\n(.*?)```", PAGE, flags=re.DOTALL)
    copied = ("refused = ['B']\ntake_item('a')", ())
    blocks = [("refused = []\ntake_item('a')", ()), ("look(3)", ()), copied, copied]
    printed = ["more ['B'] {}", "['C']", "done ['B', 'C'] {}", ""]
    for cell, score in (("P->P", 0.75), ("S->S", 0.5)):
        episode = warehouse.episode(cell, variant="costly", score=score)
        warehouse.steps(episode, blocks if cell == "S->S" else blocks[:1], outputs=printed)
    warehouse.steps(warehouse.episode("S->S"), blocks)  # of another variant
    episodes = {"episodes": 1, "p_on_p_score": 75.0}
    assert warehouse.sql(counts) == [
        episodes | {"condition": "P->P", "has_miscopied": False, "lists": 1, "miscopied_lists": 0, "score": 75.0},
        episodes | {"condition": "S->S", "has_miscopied": True, "lists": 3, "miscopied_lists": 1, "score": 50.0},
    ]
