"""The figures in the prose of the findings are those of the kept rows."""

import random
import re
from functools import cache
from importlib.resources import files
from pathlib import Path

import polars as pl
import pytest
from scipy import stats

from carryover.tasks.stages.results import EPISODES, STATISTICS, read_plans
from tests.sql.kept_results import kept_table

FOLDER = Path(str(files("carryover.sql") / "results" / "laptop_full"))
PAGE = "\n".join((FOLDER.parent / name).read_text(encoding="utf-8") for name in ("README.md", "settings.md"))
FINDINGS = " ".join(PAGE.split())
README = " ".join((FOLDER.parents[2] / "README.md").read_text(encoding="utf-8").split())
CELLS = ["P->P", "P->S", "S->S", "S->P"]
MAIN = {"variant": "main", "base": "scratch", "visibility": "declared", "bucket": "small"}


@cache
def evaluated() -> pl.DataFrame:
    kept = pl.read_parquet(FOLDER / EPISODES)
    return kept.filter(pl.col("train_contract").is_not_null(), purpose="evaluation", is_counted=True)


def table(name: str) -> pl.DataFrame:
    return kept_table(FOLDER.name, name)


def means(metric: str, **where: str | int) -> dict[str, float]:
    rows = evaluated().filter(**{**MAIN, **where}).group_by("condition").agg(pl.col(metric).mean()).rows()
    return dict(rows)


def interactions(**where: str) -> list[float]:
    """Return the interaction on tokens of each training seed, in the order of the seeds."""
    seeds = evaluated().filter(**{**MAIN, **where})["training_seed"].unique().sort()
    cells = [means("total_tokens", training_seed=seed, **where) for seed in seeds]
    return [each["P->P"] - each["P->S"] - each["S->P"] + each["S->S"] for each in cells]


def t_interval(values: list[float]) -> str:
    """Return mean and 95 % t interval as the prose has them."""
    mean, error = pl.Series(values).mean(), stats.sem(values)
    low, high = stats.t.interval(0.95, len(values) - 1, mean, error)
    return f"{mean:,.0f} [{low:,.0f}, {high:,.0f}]"


def trained_on(metric: str, **where: str) -> tuple[float, float]:
    rows = table("table_5").filter(metric=metric, **where)
    ((persistent, stateless),) = rows.select("persistent", "stateless").rows()
    return persistent, stateless


OTHERS = ({"bucket": "small_large"}, {"base": "common"}, {"base": "common", "bucket": "small_large"})


@pytest.mark.parametrize("where", [{}, *OTHERS, {"variant": "shuffled-labels"}])
def test_t_intervals_over_the_seeds(where):
    assert t_interval(interactions(**where)) in FINDINGS


def test_which_ratios_the_t_interval_over_seeds_excludes_1_for():
    rows = pl.read_parquet(FOLDER / STATISTICS).filter(
        pl.col("base").is_in(["scratch", "common"]), analysis="interaction_ratio", interval_kind="t over seeds"
    )
    wide = rows.filter(pl.col("high") > 1, variant="main")
    assert (set(wide["base"]), set(wide["bucket"]), wide.height) == ({"scratch"}, {"small_large"}, 2)
    assert rows.filter(variant="main").height == 8
    assert "includes 1 for scratch on larger instances, with either prompt, and excludes 1 in the other six" in FINDINGS


def _bootstrapped(analysis: str, metric: str, **where: str) -> tuple[float, float, float]:
    rows = pl.read_parquet(FOLDER / STATISTICS).filter(
        analysis=analysis, metric=metric, interval_kind="percentile", **{**MAIN, **where}
    )
    ((estimate, low, high),) = rows.select("estimate", "low", "high").rows()
    return estimate, low, high


def test_bootstrap_intervals_in_the_prose():
    for base in ("scratch", "common"):
        effect = "{:.2f} [{:.2f}, {:.2f}]".format(*_bootstrapped("interaction_ratio", "total_tokens", base=base))
        assert f"{effect} on `{base}`" in README
        rows = evaluated().filter(**{**MAIN, "base": base}).group_by("condition").agg(pl.col("total_tokens").mean())
        means = dict(rows.rows())
        factors = (means["P->S"] / means["P->P"], means["S->S"] / means["S->P"])
        apart = "{:.2f} times the persistent runtime's tokens for the persistent model, "
        apart += "{:.2f} times for the stateless one, "
        told = apart if base == "scratch" else "{:.2f} and {:.2f} times, "
        assert f"{told.format(*factors)}a ratio of {effect}" in README
    control = _bootstrapped("interaction", "total_tokens", variant="shuffled-labels")
    assert "do not interact: {:,.0f} [{:,.0f}, {:,.0f}], where".format(*control) in FINDINGS
    end_to_end = {"comparison_group": "end_to_end", "base": "common", "bucket": "small_large"}
    points = (100 * end for end in _bootstrapped("equivalence", "score", **end_to_end))
    assert "equivalence not shown ({:.1f} [{:.1f}, {:.1f}] points)".format(*points) in FINDINGS


def test_aligned_cell_lies_above_others_where_mistakes_cost_score():
    def points(b: tuple[str, str]) -> str:
        trained, played = b
        arms = {"train_a": "persistent", "runtime_a": "persistent", "train_b": trained, "runtime_b": played}
        ends = _bootstrapped("difference", "score", variant="costly", bucket="small_costly", **arms)
        return "{:.1f} [{:.1f}, {:.1f}]".format(*(100 * end for end in ends))

    mismatched, stateless = points(("persistent", "stateless")), points(("stateless", "stateless"))
    assert f"P→P is {mismatched} points above P→S and {stateless} above S→S" in FINDINGS


def test_episodes_without_end_of_both_bases_on_the_mismatched_runtime():
    common, scratch = (
        evaluated().filter(pl.col("finish_category") != "normal", condition="P->S", **{**MAIN, "base": base}).height
        for base in ("common", "scratch")
    )
    of_each = evaluated().filter(condition="P->S", **MAIN).height
    assert f"{common} of {of_each} P→S episodes on `common` and {scratch} on `scratch`" in README


def test_token_ratios_of_pairs_that_ended():
    ratios = table("token_sensitivity").filter(variant="main", condition="P->S", header="names")
    ended = ratios.filter(pl.col("base").is_in(["scratch", "common"]))["ratio_of_finished"]
    assert len(ended) == 8
    assert f"P→S costs {ended.min():.2f} to {ended.max():.2f} times P→P for the scratch and the common base" in FINDINGS


@pytest.mark.parametrize(
    ("base", "said"),
    [
        (
            "scratch",
            "it is {:.2f} (declared) and {:.2f} (as trained), and {:.2f} and {:.2f} in the episodes that ended",
        ),
        ("common", "is {:.2f} (declared) and {:.2f} (as trained), {:.2f} and {:.2f} in the episodes that ended"),
    ],
)
def test_state_use_after_a_mismatch(base, said):
    prompts = [{"base": base, "visibility": visibility} for visibility in ("declared", "as_trained")]
    of_all = [means("state_utilization", **where)["P->S"] for where in prompts]
    ended = [means("state_utilization", finish_category="normal", **where)["P->S"] for where in prompts]
    assert said.format(*of_all, *ended) in FINDINGS


def test_names_missed_at_home_on_large_instances_cost_no_score():
    where = {"base": "common", "bucket": "small_large"}
    scores = means("score", **where)
    assert f"P→P {100 * scores['P->P']:.0f} against S→S {100 * scores['S->S']:.0f}, equivalence" in FINDINGS
    seed = evaluated().filter(**{**MAIN, **where, "training_seed": 3})
    missed = seed.filter(pl.col("has_missing_name"), condition="P->P")
    assert missed["inspection_budget_use"].unique().to_list() == [1.0]
    others = seed.filter(condition="S->S").join(missed, on="instance_id", how="semi")
    (score,) = {f"{100 * cell['score'].mean():.1f}" for cell in (missed, others)}  # pyright: ignore
    assert f"that seed 3 misses in {missed.height} of 100 P→P episodes cost no score" in FINDINGS
    assert f"these {missed.height} spent the whole budget, and both cells score {score} on them" in FINDINGS


def test_unended_episodes_after_half_and_quarter_of_the_training():
    unfinished = evaluated().filter(pl.col("finish_category") != "normal")
    half = unfinished.filter(variant="half-training").height
    whole = unfinished.filter(**MAIN, training_seed=1).height
    assert f"and {half - whole} more of the 400 episodes do not end" in FINDINGS
    quarter = unfinished.filter(variant="quarter-adapter", condition="P->S").height
    assert f"after a quarter {quarter} of 100 P→S episodes do not end" in FINDINGS


@pytest.mark.parametrize(
    ("base", "said"), [("common", "{}, {} and {} % of the"), ("scratch", "less: {}, {} and {} %;")]
)
def test_how_much_of_the_inspection_budget_the_persistent_model_spends(base, said):
    where = {"base": base, "bucket": "small_large"}
    spent = [means("inspection_budget_use", training_seed=seed, **where)["P->P"] for seed in (1, 2, 3)]
    assert said.format(*(f"{100 * share:.0f}" for share in spent)) in FINDINGS


def test_tokens_of_the_untrained_base_of_both_idioms():
    alone = pl.read_parquet(FOLDER / EPISODES).filter(pl.col("train_contract").is_null(), base="both", is_counted=True)
    tokens = dict(alone.group_by("runtime_contract").agg(pl.col("total_tokens").mean()).rows())
    kept = f"{tokens['persistent']:,.0f} tokens where bindings persist, {tokens['stateless']:,.0f} where they do not"
    assert kept in FINDINGS


def test_tokens_of_the_teachers_by_contract_table_and_faults():
    rows = table("table_1").filter(metric="avg_total_tokens_per_episode")
    ratios = dict(rows.select("variant", "stateless_over_persistent").rows())
    assert f"{ratios['main']:.2f} times the persistent teacher's tokens with it" in FINDINGS
    assert f"tokens with it, {ratios['no-table']:.2f} without" in FINDINGS
    assert f"without faults it is {ratios['no-faults']:.2f}, with the table" in FINDINGS


def test_scores_under_a_cap_that_binds():
    scores = {cell: f"{100 * score:.0f}" for cell, score in means("score", variant="cap-binding").items()}
    (other,) = {score for cell, score in scores.items() if cell != "P->P"}
    assert f"leaves P→P at {scores['P->P']} and every other cell at {other}:" in FINDINGS


def test_both_mismatches_without_variation():
    where = {"variant": "no-variation"}
    scores, tokens = (means(metric, **where) for metric in ("score", "total_tokens"))
    unfinished = evaluated().filter(pl.col("finish_category") != "normal", **{**MAIN, **where})["condition"].to_list()
    imports = [means("imports_per_step", **named)["S->P"] for named in (where, {"training_seed": 1})]
    endless, score = unfinished.count("P->S"), 100 * scores["P->S"]
    assert f"in P→S {endless} episodes do not end, and the cell scores {score:.0f}." in FINDINGS
    assert "it imports {:.2f} times a step ({:.2f} with variation)".format(*imports) in FINDINGS
    tax, endless = tokens["S->P"] / tokens["P->P"], unfinished.count("S->P")
    said = (
        f"scores {100 * scores['S->P']:.1f}, costs {tax:.2f} times P→P's tokens, and {endless} of its episodes do not"
    )
    assert said in FINDINGS


def test_shuffled_labels_seed_by_seed():
    *values, last = interactions(variant="shuffled-labels")
    assert f"it is {', '.join(f'{value:,.0f}' for value in values)} and {last:,.0f}: chance" in FINDINGS
    assert f"they alone give {t_interval([*values[3:], last])} by a t interval" in FINDINGS


def test_draws_of_shuffled_labels_that_miss_names_or_never_end():
    rows = evaluated().filter(**{**MAIN, "variant": "shuffled-labels"})
    at_home = rows.filter(condition="P->P")
    missed = at_home.filter(pl.col("missing_name_count") > 0)["training_seed"]
    first, second, third = (missed.to_list().count(seed) for seed in (1, 2, 3))
    told = f"{len(missed)} of {at_home.height}, {first}, {second} and {third} under the first three draws"
    assert (told in FINDINGS, first + second + third) == (True, len(missed))
    endless = rows.filter(pl.col("finish_category") != "normal", condition="P->S")["training_seed"]
    assert f"the {len(endless)} P→S episodes without end are of the fourth." in FINDINGS
    assert set(endless) == {4}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_halves_that_models_of_shuffled_labels_learned_from(seed):
    (run_id,) = (
        plan.run_id for plan in read_plans(FOLDER) if plan.plan["parts"][0]["name"] == f"shuffled-labels-{seed}"
    )
    examples = pl.read_parquet(FOLDER / "training_examples.parquet").filter(run_id=run_id, status="retained")
    faults = pl.read_parquet(FOLDER / EPISODES).select("episode_id", "injected_fault_count")
    halves = {"persistent": [0, 0], "stateless": [0, 0]}
    for example in examples.join(faults, on="episode_id", validate="1:1").rows(named=True):
        stays = random.Random(f"label {seed} {example['instance_id']}").random() < 0.5
        (other,) = halves.keys() - {example["contract"]}
        half = halves[example["contract"] if stays else other]
        half[0] += example["sequence_token_count"]
        half[1] += example["injected_fault_count"]
    (tokens, fault_count), (other_tokens, other_fault_count) = halves.values()
    assert f"| {seed} | {tokens:,} | {other_tokens:,} | {fault_count:,} | {other_fault_count:,} |" in FINDINGS


def test_two_models_of_one_contract():
    contrasts = table("seed_contrasts").filter(header="names", **MAIN)["contrast_difference"].abs()
    assert f"differ by {contrasts.min():,.0f} to {contrasts.max():,.0f} in the same contrast" in FINDINGS


@pytest.mark.parametrize("base", ["common", "scratch"])
def test_scores_with_the_inspection_budget_spent_and_unspent(base):
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
    persistent, stateless = trained_on("total_assistant_tokens", variant="main")
    more = 100 * persistent / stateless - 100
    assert f"by {more:.0f} % ({persistent:,.0f} and {stateless:,.0f})" in FINDINGS
    persistent, stateless = trained_on("total_assistant_tokens", variant="no-table")
    assert f"the other way ({persistent:,.0f} and {stateless:,.0f};" in FINDINGS


def test_tax_of_the_table_and_of_half_the_training():
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


def test_tests_of_replicates_that_were_possible_or_not():
    rows = pl.read_parquet(FOLDER / "statistics.parquet").filter(analysis="replicates")
    made = rows.filter(pl.col("p_value").is_not_null())
    rejected = made.filter(pl.col("p_value") < 0.05).height
    assert f"{rejected} of {made.height} tests reject at 0.05. {rows.height - made.height} more could not" in FINDINGS


def test_episodes_as_trained_equal_the_own_contract_but_for_one():
    cells = evaluated().filter(variant="main", visibility="as_trained")
    place = ["base", "bucket", "training_seed", "instance_id"]
    pairs = cells.filter(condition="S->P").join(cells.filter(condition="S->S"), on=place, validate="1:1")
    unlike = pairs.filter(pl.col("total_tokens") != pl.col("total_tokens_right")).height
    assert (unlike, f"{pairs.height:,}") == (1, "1,200")
    assert "but for one of 1,200 episodes" in FINDINGS


def test_list_unlike_the_last_printed_one_is_miscopied(warehouse):
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
