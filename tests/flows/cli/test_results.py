"""What is kept in the repository prints without a run."""

import csv
import re
from importlib.resources import files
from pathlib import Path

import polars as pl
import pytest

from carryover.flows.cli.places import find_results
from carryover.storage.study.results import EPISODES, STATISTICS, open_results, read_plans
from carryover.tasks.running.errors import UserError
from tests.flows.cli.calling import run

RESULTS = Path(str(files("carryover.sql") / "results"))
KEPT = sorted(entry for entry in RESULTS.iterdir() if entry.is_dir())
README = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")
FINDINGS = (RESULTS / "README.md").read_text(encoding="utf-8")
DEMO = Path(str(files("carryover.sql") / "results" / "laptop"))
MEANS = ["total_tokens", "has_missing_name", "imports_per_step", "state_utilization", "score"]
COSTLIER = (("persistent", "stateless"), ("stateless", "stateless"), ("stateless", "persistent"))
"""Contracts of training and runtime whose episodes the demo's table compares with the aligned ones."""
MEGABYTE = 1_000_000


@pytest.mark.parametrize("folder", KEPT, ids=lambda folder: folder.name)
def test_kept_results_are_small_and_every_row_names_a_plan_that_is_told(folder):
    assert sum(file.stat().st_size for file in folder.iterdir()) < 3 * MEGABYTE
    digests = {plan.plan_digest for plan in read_plans(folder)}
    with open_results(folder) as results:
        rows = results.sql("select distinct kept_plan_digest from marts.episode_metrics").rows()
    assert {digest for (digest,) in rows} == digests


def test_tables_and_verdicts_of_the_laptop_study_print_without_a_data_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cells = run("tables", "2", "--results", "laptop_full", "--format", "csv").splitlines()
    assert {"P->P", "P->S", "S->P", "S->S"} <= {name for line in cells for name in line.split(",")}
    assert "mismatch_breaks_names" in run("hypotheses", "--results", "laptop_full", "--format", "markdown")


def test_the_findings_print_the_mechanism_as_the_command_does():
    printed = run("tables", "mechanism", "--results", "laptop_full", "--format", "markdown")
    table = "\n".join(line for line in printed.splitlines() if line.startswith("|"))
    assert table.count("\n") > 1
    assert table in FINDINGS


def test_the_findings_count_the_verdicts_as_the_command_does():
    *_, counts = run("hypotheses", "--results", "laptop_full", "--format", "csv").splitlines()
    ((missed, kept),) = re.findall(r"^(\d+) does not hold; (\d+) holds$", counts)
    for text in (README, FINDINGS):
        assert f"{kept} hold, {missed} do not\n" in text
    assert re.findall(r"Of the\s(\d+)\s*claims that hold", FINDINGS) == [kept]


def test_the_findings_count_the_claims_as_trained_and_on_the_common_base():
    *lines, _, _ = run("hypotheses", "--results", "laptop_full", "--format", "csv").splitlines()
    claims = list(csv.DictReader(lines))
    held = [claim for claim in claims if claim["verdict"] == "holds"]
    common = [sum(claim["base"] == "common" for claim in some) for some in (held, claims)]
    assert f"does too ({common[0]} of {common[1]} claims)" in FINDINGS
    assert f"{sum(claim['visibility'] == 'as_trained' for claim in held)} are of prompts as trained" in FINDINGS


@pytest.mark.slow
@pytest.mark.parametrize("folder", KEPT, ids=lambda folder: folder.name)
def test_figures_of_kept_results_are_drawn_without_a_data_folder(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written = run("figures", "--results", folder.name, "--folder", tmp_path).split()
    drawn = {Path(path).name: Path(path).read_text(encoding="utf-8") for path in written if path.endswith(".svg")}
    kept = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.svg")}
    assert list(kept) == ["cells_main_scratch_declared_names_small.svg"]
    assert kept.items() <= drawn.items()


def test_the_report_of_kept_results_is_written_without_a_data_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = run("report", "--results", "laptop", "--path", tmp_path / "page.html").strip()
    page = Path(path).read_text(encoding="utf-8")
    assert "laptop, digest laptop" in page
    assert "P→S" in page


def test_the_readmes_table_of_the_demo_is_of_its_kept_rows():
    episodes = pl.read_parquet(DEMO / EPISODES).filter(purpose="evaluation")
    means = (
        episodes.group_by("condition").agg(pl.col(MEANS).cast(pl.Float64).mean()).rows_by_key("condition", named=True)
    )
    cells = [means[cell][0] for cell in ("P->P", "P->S", "S->S", "S->P")]
    rows = {
        "tokens per episode": [f"{cell['total_tokens']:,.0f}" for cell in cells],
        "episodes with a missing-name error": [f"{100 * cell['has_missing_name']:.0f} %" for cell in cells],
        "imports per step": [f"{cell['imports_per_step']:.2f}" for cell in cells],
        "state utilization": [f"{cell['state_utilization']:.2f}" for cell in cells],
        "normalized optimality": [f"{100 * cell['score']:.1f}" for cell in cells],
        "ratio to P→P, paired 95 % interval": ["1", *(_printed_ratio(*path) for path in COSTLIER)],
    }
    printed = [f"| {name} | {' | '.join(values)} |" for name, values in rows.items()]
    assert [row for row in printed if row not in README] == []


def _printed_ratio(train: str, runtime: str) -> str:
    ratios = pl.read_parquet(DEMO / STATISTICS).filter(
        analysis="ratio", metric="total_tokens", comparison_group="against_aligned", interval_kind="percentile"
    )
    ((estimate, low, high),) = (
        ratios.filter(train_a=train, runtime_a=runtime, train_b="persistent", runtime_b="persistent")
        .select("estimate", "low", "high")
        .rows()
    )
    return f"{estimate:.2f} [{low:.2f}, {high:.2f}]"


def test_results_that_are_not_there_are_named_with_the_choices():
    with pytest.raises(UserError, match=r"no results 'paper'; give a folder, or one of laptop, laptop_full"):
        find_results("paper")
