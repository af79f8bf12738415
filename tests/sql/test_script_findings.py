"""The figures in the prose on scripts and on the paper's directions are those of kept and published rows."""

from collections import Counter
from functools import cache

import polars as pl

from carryover.tasks.analysis.published_tables import published_table
from carryover.tasks.stages.results import EPISODES, STATISTICS, read_plans
from tests.sql.kept_results import RESULTS, kept_table

PAGE = (RESULTS / "README.md").read_text(encoding="utf-8")
FINDINGS = " ".join(PAGE.split())
README = " ".join((RESULTS.parents[1] / "README.md").read_text(encoding="utf-8").split())
CELLS = ("P->P", "P->S", "S->P", "S->S")
MAIN = {"variant": "main", "visibility": "declared", "header": "names", "bucket": "small"}


@cache
def _evaluated(results: str) -> pl.DataFrame:
    kept = pl.read_parquet(RESULTS / results / EPISODES)
    return kept.filter(pl.col("train_contract").is_not_null(), purpose="evaluation", is_counted=True, **MAIN)


def _interval(base: str, train_a: str, runtime_a: str, train_b: str, runtime_b: str) -> list[float]:
    """Return estimate and ends of the t interval over eight seeds of a ratio of tokens."""
    arms = {"train_a": train_a, "runtime_a": runtime_a, "train_b": train_b, "runtime_b": runtime_b}
    rows = pl.read_parquet(RESULTS / "laptop_full" / STATISTICS).filter(
        analysis="ratio", metric="total_tokens", interval_kind="t over seeds", base=base, **arms, **MAIN
    )
    return list(rows.select("estimate", "low", "high").row(0))


def _shown(estimate: float, low: float, high: float) -> str:
    return f"{estimate:.2f} [{low:.2f}, {high:.2f}]"


def test_script_control_of_the_demo_is_printed_cell_by_cell():
    rows = kept_table("laptop", "script_control").filter(metric="total_tokens", base="scratch")
    assert rows["condition"].to_list() == list(CELLS)
    for row in rows.iter_rows(named=True):
        low, high = row["trained_minus_script_low"], row["trained_minus_script_high"]
        difference = f"{row['trained_minus_script']:,.0f} [{low:,.0f}, {high:,.0f}]"
        ratios = f"{row['trained_ratio_to_p_on_p']:.2f} | {row['script_ratio_to_p_on_p']:.2f}"
        line = f"| {row['condition'].replace('->', '→')} | {row['trained']:,.0f} | {row['script']:,.0f} | {difference} "
        assert f"{line}| {ratios} | {row['equal_pct']:.0f} of 100 |" in PAGE


def test_ratios_of_models_and_scripts_stand_side_by_side():
    rows = kept_table("laptop", "script_control").filter(metric="total_tokens", base="scratch")
    columns = ("condition", "trained_ratio_to_p_on_p", "script_ratio_to_p_on_p")
    ratios = {condition: (trained, script) for condition, trained, script in rows.select(columns).rows()}
    others = ("P->S", "S->S", "S->P")
    trained, scripts = ([f"{ratios[condition][played]:.2f}" for condition in others] for played in (0, 1))
    told = f"P→S costs {trained[0]} times P→P's tokens, S→S {trained[1]} times, and S→P {trained[2]} times"
    assert told in README
    medians = dict(
        _evaluated("laptop")
        .filter(base="scratch", **MAIN)
        .group_by("condition")
        .agg(pl.col("total_tokens").median())
        .rows()
    )
    middle = [f"{medians[condition] / medians['P->P']:.2f}" for condition in others]
    assert "In the median they are {}, {} and {}".format(*middle) in README
    assert "give {}, {} and {} without any model".format(*scripts) in README
    mechanism = kept_table("laptop", "mechanism").row(0, named=True)
    missed = kept_table("laptop", "script_control").filter(metric="missing_name_count", condition="P->S")
    trained, script = (f"{value:.2f}" for value in missed.select("trained", "script").row(0))
    both = f"{mechanism['script_interaction_ratio']:.3f} for the scripts, which miss {script} names per P→S episode"
    assert f"and {both} in `laptop`, its model {trained}." in FINDINGS


def test_ratio_of_models_whose_four_cells_ended():
    place = ["instance_id", "training_seed"]
    ended = _evaluated("laptop_full").filter(base="scratch", finish_category="normal")
    whole = ended.group_by(place).len().filter(pl.col("len") == len(CELLS))
    means = dict(
        ended.join(whole, on=place, how="semi").group_by("condition").agg(pl.col("total_tokens").mean()).rows()
    )
    ratio = (means["P->P"] / means["P->S"]) / (means["S->P"] / means["S->S"])
    assert f"The ratio of ratios is {ratio:.3f} for the models of eight seeds whose four cells all ended" in FINDINGS


def test_scores_of_the_demo_are_one_number_but_one():
    means = _evaluated("laptop").group_by("base", "condition").agg(pl.col("score").mean())
    scores = {(base, condition): f"{100 * score:.2f}" for base, condition, score in means.rows()}
    home = scores.pop(("scratch", "P->P"))
    (other,) = {*scores.values()}
    assert f"three of the four cells score exactly {other}; P→P scores {home}" in FINDINGS
    assert f"Here P→P scores {home} % of the optimum and every other cell {other}" in README


def test_the_versions_of_the_kept_studies_are_told():
    kept = {folder.parent.name: read_plans(folder.parent) for folder in RESULTS.glob("*/plans.json")}
    versions = {
        study: Counter(plan.environment["packages"]["transformers"].rpartition(".")[0] for plan in plans)
        for study, plans in kept.items()
    }
    full, injected = versions.pop("laptop_full"), versions.pop("laptop_injected")
    assert full == {"5.19": full.total() - 1, "5.24": 1}
    assert injected.keys() == {"5.19"}
    assert all(found.keys() == {"5.24"} for found in versions.values())
    told = "whose parts but one, as `laptop_injected`, ran with transformers 5.19, and all else with 5.24"
    assert told in FINDINGS


def test_reuses_of_the_mismatched_model_are_counted_per_episode():
    used = (
        _evaluated("laptop_full")
        .filter(base="scratch")
        .group_by("condition")
        .agg(pl.col("state_utilization").mean(), share=(pl.col("state_utilization") > 0).mean())
    )
    mismatched, aligned = (used.filter(condition=cell).row(0, named=True) for cell in ("P->S", "P->P"))
    reuses = f"{mismatched['state_utilization']:.3f} reuses per episode"
    home = f"{aligned['state_utilization']:.2f}"
    assert f"{reuses}, in {100 * mismatched['share']:.0f} % of the episodes, where P→P has {home};" in README


def test_three_directions_differ_from_the_papers():
    published = published_table("table_2").filter(model="sft", train_semantics="stateless")
    tokens = {
        (row["split"], row["runtime_semantics"]): row["mean_total_tokens"] for row in published.iter_rows(named=True)
    }
    paper = [tokens[split, "persistent"] / tokens[split, "stateless"] for split in ("easy", "hard")]
    ours = []
    for base in ("scratch", "common"):
        estimate, low, high = _interval(base, "stateless", "stateless", "stateless", "persistent")
        ours.append(f"{_shown(1 / estimate, 1 / high, 1 / low)} on `{base}`")
    told = "{:.2f} on Easy, {:.2f} on Hard".format(*paper)
    assert f"| tokens, S→P over S→S | {told} | {', '.join(ours)} |" in PAGE
    means = _evaluated("laptop_full").filter(base="scratch").group_by("condition")
    behaviour = means.agg(pl.col("redefinitions_per_step", "context_lifespan").mean())
    for metric, words in (
        ("redefinitions_per_step", "redefinitions per step"),
        ("context_lifespan", "context lifespan"),
    ):
        here = [behaviour.filter(condition=cell)[metric].item() for cell in ("P->P", "S->P")]
        theirs = []
        for split, table in (("Easy", "table_9"), ("Hard", "table_10")):
            cells = published_table(table).filter(runtime_semantics="persistent")
            values = dict(cells.select("train_semantics", metric).rows())
            assert (values["persistent"] > values["stateless"]) != (here[0] > here[1])
            theirs.append(f"{values['persistent']:.2f} against {values['stateless']:.2f} on {split}")
        line = f"| {words}, P→P against S→P | {', '.join(theirs)} | {here[0]:.2f} against {here[1]:.2f} |"
        assert line in PAGE
    assert "Three contrasts go another way than in arXiv 2603.01209" in README


def test_mismatched_cell_costs_about_what_statelessness_does():
    ratio = _shown(*_interval("scratch", "persistent", "stateless", "stateless", "stateless"))
    assert f"P→S costs {ratio} times S→S on `scratch`" in FINDINGS
