"""The page on pretrained models says what its kept rows say."""

import re
from contextlib import suppress
from random import Random
from statistics import mean

import polars as pl
import pytest

from carryover.tasks.families.choose import choose_family
from carryover.tasks.knapsack.environment import KnapsackEnvironment
from carryover.tasks.plans.study_plan import InstanceSetSpec
from carryover.tasks.runtime.inside.tools import ToolRuntimeException
from carryover.tasks.stages.results import EPISODES, STATISTICS, read_plans
from tests.sql.pretrained_page import (
    AGAIN,
    CELLS,
    CPU_COMMAND,
    EVERY,
    FOLDER,
    GPU_COMMAND,
    GPU_FOLDER,
    HOME,
    LIMIT,
    PAGE,
    PROSE,
    QWEN,
    claims_of,
    evaluated,
    row_of,
    table,
    total,
)

README = " ".join((FOLDER.parents[2] / "README.md").read_text(encoding="utf-8").split())


@pytest.mark.parametrize("folder", [FOLDER, GPU_FOLDER, QWEN], ids=lambda folder: folder.name)
def test_each_cell_stands_beside_its_script(folder):
    control = table("script_control", folder)
    for condition in CELLS:
        (tokens,) = control.filter(metric="total_tokens", condition=condition).rows(named=True)
        (score,) = control.filter(metric="score", condition=condition).rows(named=True)
        low, high = tokens["trained_minus_script_low"], tokens["trained_minus_script_high"]
        seed_count = evaluated(condition, folder)["training_seed"].n_unique()
        seeds = "" if folder == FOLDER else f", {seed_count} seeds"
        cells = [
            condition.replace("->", "→") + seeds,
            f"{tokens['trained']:,.0f}",
            f"{tokens['script']:,.0f}",
            f"{tokens['trained_minus_script']:,.0f} [{low:,.0f}, {high:,.0f}]",
            f"{tokens['trained_ratio_to_p_on_p']:.2f}",
            f"{tokens['script_ratio_to_p_on_p']:.2f}",
            f"{100 * score['trained']:.1f}",
            f"{100 * score['script']:.1f}",
            f"{tokens['equal_pct']:.0f} %",
        ]
        assert f"| {' | '.join(cells)} |" in PAGE


def test_mismatched_episodes_repeat_their_failing_block_to_the_limit():
    lost = evaluated("P->S")
    assert set(lost["finish_reason"]) == {"max_turns"}
    assert set(lost["score"]) == {0}
    assert set(lost["turn_count"]) == set(lost["step_count"]) == {LIMIT}
    assert set(lost["missing_name_count"]) == {LIMIT - 1}  # all blocks but the first
    assert set(lost["repeated_step_count"]) == {LIMIT - 2}  # all but the first two
    assert set(lost["is_repaired"]) == {False}
    assert f"In each of the {lost.height} P→S episodes" in PROSE
    assert "All 22 further blocks are copies of the second, until the limit of 24 turns" in PROSE
    script = row_of("repair", base="teacher", condition="P->S")
    assert (script["repaired_pct"], script["mean_turns_to_repair"]) == (100, 1)
    assert set(lost["state_utilization"]) == {44}
    assert set(lost["training_seed"]) == {1}
    home = evaluated("P->P")
    assert home["step_count"].mean() == 8
    assert home["repeated_step_count"].mean() == 4


def test_ratios_in_the_prose_are_the_models():
    (model,) = [row for row in table("side_by_side").rows(named=True) if row["player"].endswith(": hub, small")]

    def shown(column):
        return f"{model[column]:.2f} [{model[f'{column}_low']:.2f}, {model[f'{column}_high']:.2f}]"

    away, home = shown("s_on_p_token_ratio"), shown("s_on_s_token_ratio")
    assert f"so {away} (S→P) and {home} (S→S) times P→P's tokens" in PROSE
    assert f"P→S's {shown('p_on_s_token_ratio')} is set by the limit of {LIMIT} turns" in PROSE
    assert (
        f"{model['s_on_s_token_ratio']:.2f} times P→P's tokens in S→S and {model['s_on_p_token_ratio']:.2f}" in README
    )


def test_the_stateless_adapter_misses_no_name_and_goes_on_importing():
    for condition in ("S->P", "S->S"):
        assert set(evaluated(condition)["missing_name_count"]) == {0}
    assert set(evaluated("S->P")["imports_per_step"]) == {1}


def test_the_base_alone_ends_no_episode():
    untrained = pl.concat([evaluated("hub->P"), evaluated("hub->S")])
    assert set(untrained["score"]) == {0}
    assert "finish_tool" not in set(untrained["finish_reason"])
    assert f"without an adapter the model ends none of {untrained.height} episodes, and scores 0" in PROSE


def test_traces_hold_no_failed_block():
    kept = pl.read_parquet(FOLDER / EPISODES).filter(purpose="teacher", split="train")
    assert kept.group_by("runtime_contract").len()["len"].to_list() == [300, 300]
    failures = ("injected_fault_count", "missing_name_count", "interpreter_error_count", "tool_error_count")
    assert kept.select(failures).sum().row(0) == (0, 0, 0, 0)
    examples = pl.read_parquet(FOLDER / "training_examples.parquet")
    skipped = examples.filter(pl.col("status") != "retained")
    assert set(skipped["reason"]) == {"score_too_low"}
    assert skipped.group_by("contract", "dataset_id").len()["len"].to_list() == [6, 6, 6, 6]
    assert "300 per contract less six of too low a score" in PROSE


def test_toy_models_without_failed_blocks_do_not_repair_either():
    settings = (FOLDER.parent / "settings.md").read_text(encoding="utf-8")
    assert "**Without faults in its training** the persistent model never repairs" in settings
    for text in (PROSE, README, " ".join((FOLDER.parent / "side_by_side.md").read_text(encoding="utf-8").split())):
        assert "oy models" in text
        assert "settings.md" in text


def test_claims_without_a_verdict_are_counted():
    verdicts, counts = claims_of(FOLDER)
    assert counts.startswith("8 distinct claims in 8 verdicts: 5 hold, 0 do not, 3 without a verdict")
    assert "Of eight claims, five hold, all fulfilled by the scripts alone. Three, on P→S's tokens and score" in PROSE
    verdicts_there, _ = claims_of(GPU_FOLDER)
    assert verdicts == verdicts_there
    assert "Of the eight claims, the same five hold, and the same three have no verdict" in PROSE


def test_a_random_policy_scores_less():
    (plan,) = read_plans(FOLDER)
    (evaluation,) = plan.plan["parts"][0]["evaluations"]
    played = InstanceSetSpec.model_validate(evaluation["instances"])
    scores = [random_score(played.bucket, seed, draw) for seed in played.seeds for draw in range(100)]
    assert f"takes all that it may scores {100 * mean(scores):.1f} % of the optimum" in PROSE


def random_score(bucket: str, seed: int, draw: int) -> float:
    """Return the score of a policy that inspects items in random order and takes all that it may."""
    instance = choose_family("knapsack").sample(bucket, seed)
    environment = KnapsackEnvironment(instance)
    names = [item.item_id for item in instance.items]
    Random(f"{seed} {draw}").shuffle(names)
    for name in names:
        with suppress(ToolRuntimeException):  # beyond its budget or capacity, or of a class that is not allowed
            environment.inspect(name)
            environment.take_item(name)
    return environment.score().score


def test_detectable_difference_is_that_of_the_cells():
    points = {f"{row_of('repair', condition=cell, base='hub')['detectable_score_points']:.1f}" for cell in HOME}
    assert f"Two separate groups of 40 detect {points.pop()} points of score" in PROSE
    assert points == set()
    paired = pl.read_parquet(FOLDER / STATISTICS).filter(analysis="power", metric="score", base="hub")
    home = {"train_a": "persistent", "runtime_a": "persistent", "train_b": "persistent", "runtime_b": "stateless"}
    detected = paired.filter(**home)["estimate"].drop_nulls().unique().to_list()
    assert [f"{100 * points:.1f}" for points in detected] == ["5.3"]
    assert "paired instances 5.3" in PROSE


@pytest.mark.parametrize(
    ("command", "folder"), [(CPU_COMMAND, FOLDER), (GPU_COMMAND, GPU_FOLDER)], ids=["run", "bundle"]
)
def test_the_command_is_of_the_kept_plan(command, folder):
    (kept,) = read_plans(folder)
    plan = kept.plan["parts"][0]
    told = dict(re.findall(r"--([a-z-]+) ([\w.,~/-]+)", command))
    training = plan["training"]
    assert float(told["learning-rate"]) == training["optimizer"]["learning_rate"]
    assert (int(told["lora-rank"]), float(told["epochs"])) == (training["lora"]["rank"], training["epochs"])
    assert int(told["train-count"]) == plan["train_instances"]["count"]
    assert int(told["evaluation-count"]) == plan["evaluations"][0]["instances"]["count"]
    assert int(told["max-turns"]) == plan["evaluations"][0]["episode"]["max_turns"] == LIMIT
    assert [int(seed) for seed in told["training-seeds"].split(",")] == plan["training_seeds"]
    assert int(told["concurrency"]) == kept.plan["serving"]["max_concurrent"]
    assert (told["device"], told.get("engine", "cpu")) == (training["device"], kept.plan["serving"]["engine"])
    assert "habits" not in plan["teacher"]
    assert told["teacher-habits"] == "fixed"


def test_the_readme_says_what_the_rows_say():
    home = evaluated("P->P")
    (at_home,) = table("side_by_side").filter(pl.col("player").str.ends_with("on a CPU: hub, small")).rows(named=True)
    assert f"ends every P→P episode, at {at_home['p_on_p_score_pct']:.1f} % of the optimum" in README
    assert set(home["finish_reason"]) == {"finish_tool"}
    lost_anywhere = [evaluated("P->S", folder) for folder in EVERY]
    assert {score for kept in lost_anywhere for score in kept["score"]} == {0}
    episode_count = sum(kept.height for kept in lost_anywhere)
    trainings = {folder: kept["training_seed"].n_unique() for folder, kept in zip(EVERY, lost_anywhere, strict=True)}
    words = {3: "three", 10: "ten"}
    ten, three = words[sum(trainings.values())], words[trainings[QWEN]]
    assert f"after {ten} such trainings, {three} of Qwen2.5-Coder-0.5B-Instruct, {episode_count} of" in README
    (qwen,) = [row for row in table("side_by_side", QWEN).rows(named=True) if row["player"].endswith(": hub, small")]
    assert f"(Qwen: {qwen['s_on_s_token_ratio']:.2f}, {qwen['s_on_p_token_ratio']:.2f})" in README
    assert f"{episode_count} of {episode_count} P→S episodes score 0" in README
    assert "The limits: two small models, 40 instances per cell" in README
    assert {evaluated(cell)["instance_id"].n_unique() for cell in CELLS} == {40}


def test_side_by_side_counts_the_lost_episodes_of_both_machines():
    page = " ".join((FOLDER.parent / "side_by_side.md").read_text(encoding="utf-8").split())
    here, there = evaluated("P->S").height, evaluated("P->S", GPU_FOLDER).height
    qwen = evaluated("P->S", QWEN).height
    assert (
        f"{here} of {here} P→S episodes of SmolLM2 on a CPU and {there} of {there} on a GPU end at their limit" in page
    )
    assert f"as {qwen} of {qwen} of Qwen2.5-Coder do" in page
    assert f"({evaluated('P->S', AGAIN).height} more of a second SmolLM2 bundle do, too)" in page
    assert "three on a GPU (its stateless cells: two, so 80 episodes)" in page
    assert {evaluated(cell, GPU_FOLDER).height for cell in ("S->P", "S->S")} == {80}


def trained_adapters(kept: pl.DataFrame, contract: str) -> int:
    return kept.filter(train_contract=contract)["training_seed"].n_unique()


def test_no_model_repairs_and_all_other_cells_are_the_scripts():
    lost = [evaluated("P->S", folder) for folder in EVERY]
    assert {reason for kept in lost for reason in kept["finish_reason"]} == {"max_turns"}
    assert {repaired for kept in lost for repaired in kept["is_repaired"]} == {False}
    adapters = sum(trained_adapters(kept, "persistent") for kept in lost)
    assert adapters == 10
    assert f"Ten persistent adapters, of both models, on a CPU and a GPU, played {total(lost)} P→S episodes" in PROSE
    at_home = [pl.concat([evaluated(cell, folder) for cell in HOME]) for folder in EVERY]
    controls = [table("script_control", folder).filter(metric="total_tokens") for folder in EVERY]
    shares = {row["equal_pct"] for control in controls for row in control.rows(named=True) if row["condition"] in HOME}
    assert shares == {100}
    assert sum(trained_adapters(kept, "persistent") for kept in at_home) == 10
    assert sum(trained_adapters(kept, "stateless") for kept in at_home) == 9
    assert f"{total(at_home):,} episodes of ten persistent and nine stateless adapters" in PROSE
