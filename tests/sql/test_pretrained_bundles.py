"""The page on pretrained models says of the GPU what its kept rows say."""

from collections import Counter
from pathlib import Path

import polars as pl

from carryover.tasks.stages.results import EPISODES, KeptPlan, read_plans
from tests.sql.pretrained_page import (
    AGAIN,
    CELLS,
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
    untrained_of,
)


def test_no_adapter_of_the_gpu_repairs():
    lost = evaluated("P->S", GPU_FOLDER)
    assert set(lost["finish_reason"]) == {"max_turns"}
    assert set(lost["score"]) == {0}
    assert set(lost["step_count"]) == {LIMIT}
    assert set(lost["missing_name_count"]) == {LIMIT - 1}  # all blocks but the first
    assert set(lost["is_repaired"]) == {False}
    assert f"In each of the {lost.height} P→S episodes all blocks but the first read a `NameError`" in PROSE
    assert f"until the limit of {LIMIT} turns: none ends, and none scores" in PROSE
    copies = Counter(lost["repeated_step_count"])
    moved_on = lost.filter(pl.col("repeated_step_count") != LIMIT - 2)
    assert set(copies) == {LIMIT - 2, LIMIT - 4}
    assert f"In {copies[LIMIT - 2]} all 22 further blocks are copies of the second" in PROSE
    assert f"In {copies[LIMIT - 4]}, all of seed 2, two are not" in PROSE
    assert set(moved_on["training_seed"]) == {2}
    assert set(moved_on["state_utilization"]) == {31, 32}  # the later function's call reads fewer names that are gone


def test_other_cells_of_the_gpu_are_the_scripts():
    control = table("script_control", GPU_FOLDER)
    at_home = control.filter(pl.col("condition").is_in(HOME), metric="total_tokens")
    assert set(at_home["equal_pct"]) == {100}
    episode_count = at_home["pair_count"].sum()
    assert f"in {episode_count} of {episode_count} episodes" in PROSE


def test_seed_1_does_the_same_on_both_machines():
    here = pl.concat([evaluated(cell) for cell in CELLS])
    there = pl.concat([evaluated(cell, GPU_FOLDER) for cell in CELLS]).filter(training_seed=1)
    pairs = here.join(there, on=["condition", "instance_id"], suffix="_there", validate="1:1")
    equal = ("step_count", "missing_name_count", "score", "repeated_step_count", "imports_per_step")
    for column in (*equal, "state_utilization"):
        assert pairs[column].equals(pairs[f"{column}_there"], check_names=False)
    assert pairs.height == here.height == there.height
    assert f"each of {pairs.height} pairs of episodes has equal steps" in PROSE
    shift = (pl.col("total_tokens") - pl.col("total_tokens_there")).abs()
    differing = pairs.with_columns(shift.alias("shift")).filter(pl.col("shift") > 0)
    away = differing.filter(condition="P->S")["shift"].max()
    elsewhere = differing.filter(pl.col("condition") != "P->S")["shift"].max()
    assert f"{differing.height} differ in tokens, by at most {away} in P→S and {elsewhere} elsewhere" in PROSE


def test_both_machines_trained_on_the_same_traces_with_the_same_settings():
    examples = trained_on(FOLDER)
    assert examples.height == 600
    assert examples.equals(trained_on(GPU_FOLDER))
    (here,) = read_plans(FOLDER)
    (there,) = read_plans(GPU_FOLDER)
    training = here.plan["parts"][0]["training"]
    assert (training["device"], training["attention"]) == ("cpu", "auto")  # which is sdpa on a CPU
    of_the_gpu = {"device": "gpu", "attention": "sdpa", "base_model": "base/smollm2-135m"}
    assert there.plan["parts"][0]["training"] == training | of_the_gpu
    for kept in (here, there):
        assert kept.plan["parts"][0]["evaluations"][0]["episode"]["temperature"] == 0.2
    assert "drawn at a temperature of 0.2" in PROSE


def trained_on(folder: Path) -> pl.DataFrame:
    """Return the traces that the adapters of a folder learned from, once each."""
    columns = ["contract", "instance_id", "status", "token_count", "assistant_token_count", "sequence_token_count"]
    return pl.read_parquet(folder / "training_examples.parquet", columns=columns).unique().sort(columns)


def test_the_page_names_both_machines():
    (here,) = read_plans(FOLDER)
    (there,) = read_plans(GPU_FOLDER)
    assert here.environment["gpu"] is None
    assert f"trained at once on one {there.environment['gpu']}, in a run" in PROSE
    torch = f"torch {torch_of(there)} for {torch_of(here)}"
    python = f"Python {python_of(there)} for {python_of(here)}"
    assert f"{torch} and {python}" in PROSE
    assert f"a bug of Carryover on Python {python_of(there)}, now fixed, ended the evaluation" in PROSE
    assert there.finished_at is not None
    assert f"a run of {(there.finished_at - there.started_at).total_seconds():.0f} seconds" in PROSE


def torch_of(kept: KeptPlan) -> str:
    return kept.environment["packages"]["torch"].rpartition(".")[0]


def python_of(kept: KeptPlan) -> str:
    return kept.environment["python"].rpartition(".")[0]


def test_what_the_gpu_did_not_play_is_said():
    kept = pl.read_parquet(GPU_FOLDER / EPISODES).filter(purpose="evaluation", base="hub")
    played = kept.group_by("train_contract", "training_seed", "runtime_contract").len()
    assert set(played["len"]) == {40}
    cells = {(contract, seed) for contract, seed, _, _ in played.rows()}
    assert "Six adapters, seeds 1, 2 and 3 of both contracts" in PROSE
    assert read_plans(GPU_FOLDER)[0].plan["parts"][0]["training_seeds"] == [1, 2, 3]
    assert cells == {("persistent", 1), ("persistent", 2), ("persistent", 3), ("stateless", 1), ("stateless", 2)}
    assert played.height == 10
    assert "Our own server played five of them there, 40 instances per cell" in PROSE
    assert "now fixed, ended the evaluation before the stateless adapter of seed 3, and left too little" in PROSE


def test_the_bundle_has_the_options_of_the_kept_run():
    (kept,) = read_plans(GPU_FOLDER)
    _, options = kept.environment["command_line"].split("--scale pretrained ")
    _, told = GPU_COMMAND.split("```")[0].replace("\\\n", " ").split(" -- ")
    assert sorted(options_of(told)) == sorted(options_of(options.replace("base/", "~/weights/")))


def options_of(command: str) -> list[str]:
    return [option.strip() for option in command.split("--")]


def test_a_second_bundle_has_the_same_outcome():
    (first,), (second,) = read_plans(GPU_FOLDER), read_plans(AGAIN)
    assert first.plan["parts"] == second.plan["parts"]
    assert first.finished_at is not None
    assert second.started_at > first.finished_at
    lost = evaluated("P->S", AGAIN)
    moved_on = lost.filter(pl.col("repeated_step_count") != LIMIT - 2)
    assert f"none of {lost.height} P→S episodes ends, the {moved_on.height} that move on to the next function" in PROSE
    assert set(moved_on["training_seed"]) == {2}
    home = sum(evaluated(cell, AGAIN).height for cell in HOME)
    assert f"{home} of {home} episodes of the other cells are the scripts'" in PROSE
    assert evaluated("S->P", AGAIN).filter(training_seed=3).height == 40
    assert evaluated("S->S", AGAIN).filter(training_seed=3).height == 0
    missing = 40 - lost.filter(training_seed=3).height
    assert f"ended before S→S of seed 3 and {missing} of its P→S episodes" in PROSE
    assert f"Its untrained model ends none of {untrained_of(AGAIN)} episodes" in PROSE


def test_a_larger_model_does_the_same():
    lost = evaluated("P->S", QWEN)
    assert set(lost["step_count"]) == {LIMIT}
    assert set(lost["missing_name_count"]) == {LIMIT - 1}
    assert set(lost["repeated_step_count"]) == {LIMIT - 2}
    assert set(lost.group_by("training_seed").len()["len"]) == {40}
    assert f"In each of the {lost.height} P→S episodes, of every seed, the second block reads a `NameError`" in PROSE
    home = sum(evaluated(cell, QWEN).height for cell in HOME)
    assert f"The other {home} episodes are the scripts'" in PROSE
    assert f"Untrained it ends none of {untrained_of(QWEN)} episodes" in PROSE.replace("**", "")
    assert claims_of(QWEN)[0] == claims_of(FOLDER)[0]
    points = {f"{row_of('repair', QWEN, condition=cell, base='hub')['detectable_score_points']:.1f}" for cell in HOME}
    assert f"Groups of {lost.height} detect {points.pop()} points of score" in PROSE
    assert points == set()
    assert "The same five claims hold, and the same three have no verdict." in PROSE.partition("## Qwen")[2]


def test_the_larger_model_learned_by_the_options_of_the_smaller():
    (smaller,), (larger,) = read_plans(AGAIN), read_plans(QWEN)
    _, said = PAGE.split("A bundle with `")
    options = said.split("`")[0].replace("~/weights/", "base/")
    ran = " ".join(larger.environment["command_line"].split("--scale ")[1].split())
    assert options in ran
    told = smaller.environment["command_line"].split("--scale ")[1]
    own = "--base-model base/smollm2-135m --learning-rate 1e-3"
    assert told.replace(own, options) == ran
    gpus = {read_plans(folder)[0].environment["gpu"] for folder in (GPU_FOLDER, AGAIN, QWEN)}
    assert gpus == {"NVIDIA H200"}


def test_the_page_on_gpus_counts_the_episodes_of_both_models():
    bundles = " ".join((FOLDER.parents[2] / "deployments" / "gpu.md").read_text(encoding="utf-8").split())
    played = [pl.read_parquet(folder / EPISODES).filter(purpose="evaluation", base="hub") for folder in (AGAIN, QWEN)]
    assert f"{total(played):,} episodes were played" in bundles
    planned = (6 * 2 + 2) * 40
    assert played[1].height == planned
    assert f"all of Qwen's and all but {planned - played[0].height} of SmolLM2's" in bundles
