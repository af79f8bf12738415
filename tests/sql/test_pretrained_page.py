"""The page on a pretrained model says what its kept rows say."""

import re
from functools import cache
from importlib.resources import files
from pathlib import Path

import polars as pl

from carryover.tasks.analysis.queries import table_query
from carryover.tasks.stages.results import EPISODES, STATISTICS, open_results, read_plans
from tests.flows.cli.calling import run

FOLDER = Path(str(files("carryover.sql") / "results" / "pretrained"))
PAGE = (FOLDER.parent / "pretrained.md").read_text(encoding="utf-8")
PROSE = " ".join(PAGE.split())
HOME = ("P->P", "S->P", "S->S")
"""Cells of runtimes in which an adapter finds what it expects."""
LIMIT = 24
README = " ".join((FOLDER.parents[2] / "README.md").read_text(encoding="utf-8").split())


@cache
def table(name: str) -> pl.DataFrame:
    with open_results(FOLDER) as results:
        return results.sql(table_query(name).sql, plan_digest=FOLDER.name).polars()


def evaluated(condition: str) -> pl.DataFrame:
    kept = pl.read_parquet(FOLDER / EPISODES)
    return kept.filter(base="hub", purpose="evaluation", condition=condition, is_counted=True)


def row_of(name: str, **where: str) -> dict[str, object]:
    (row,) = table(name).filter(**where).rows(named=True)
    return row


def test_each_cell_stands_beside_its_script():
    control = table("script_control")
    for condition in ("P->P", "P->S", "S->P", "S->S"):
        (tokens,) = control.filter(metric="total_tokens", condition=condition).rows(named=True)
        (score,) = control.filter(metric="score", condition=condition).rows(named=True)
        low, high = tokens["trained_minus_script_low"], tokens["trained_minus_script_high"]
        cells = [
            condition.replace("->", "→"),
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


def test_toy_models_without_failed_blocks_do_not_repair_either():
    settings = (FOLDER.parent / "settings.md").read_text(encoding="utf-8")
    assert "**Without faults in its training** the persistent model never repairs" in settings
    for text in (PROSE, README, " ".join((FOLDER.parent / "side_by_side.md").read_text(encoding="utf-8").split())):
        assert "oy models" in text
        assert "settings.md" in text


def test_claims_without_a_verdict_are_counted():
    *_, counts, _ = run("hypotheses", "--results", FOLDER.name, "--format", "csv").splitlines()
    assert counts.startswith("8 distinct claims in 8 verdicts: 4 hold, 0 do not, 4 without a verdict")
    assert "Of eight claims, four hold. Four, on P→S's tokens, misses and score, have no verdict" in PROSE


def test_detectable_difference_is_that_of_the_cells():
    points = {f"{row_of('repair', condition=cell, base='hub')['detectable_score_points']:.1f}" for cell in HOME}
    assert f"Two separate groups of 40 detect {points.pop()} points of score" in PROSE
    assert points == set()
    paired = pl.read_parquet(FOLDER / STATISTICS).filter(analysis="power", metric="score", base="hub")
    home = {"train_a": "persistent", "runtime_a": "persistent", "train_b": "persistent", "runtime_b": "stateless"}
    detected = paired.filter(**home)["estimate"].drop_nulls().unique().to_list()
    assert [f"{100 * points:.1f}" for points in detected] == ["5.3"]
    assert "paired instances 5.3" in PROSE


def test_the_command_is_of_the_kept_plan():
    (kept,) = read_plans(FOLDER)
    plan = kept.plan["parts"][0]
    command = PAGE.split("carryover run ")[1]
    told = dict(re.findall(r"--([a-z-]+) ([\w.~/-]+)", command))
    training = plan["training"]
    assert float(told["learning-rate"]) == training["optimizer"]["learning_rate"]
    assert (int(told["lora-rank"]), float(told["epochs"])) == (training["lora"]["rank"], training["epochs"])
    assert int(told["train-count"]) == plan["train_instances"]["count"]
    assert int(told["evaluation-count"]) == plan["evaluations"][0]["instances"]["count"]
    assert int(told["max-turns"]) == plan["evaluations"][0]["episode"]["max_turns"] == LIMIT
    assert "habits" not in plan["teacher"]
    assert told["teacher-habits"] == "fixed"


def test_the_readme_says_what_the_rows_say():
    home, lost = evaluated("P->P"), evaluated("P->S")
    at_home = row_of("side_by_side", player="pretrained, SmolLM2-135M-Instruct, dequantized from Q4_1: hub, small")
    assert f"ends every P→P episode, at {at_home['p_on_p_score_pct']:.1f} % of the optimum" in README
    assert set(home["finish_reason"]) == {"finish_tool"}
    assert f"{lost.height} of {lost.height} P→S episodes" in README
