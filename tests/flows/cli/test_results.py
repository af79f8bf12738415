"""What is kept in the repository prints without a run."""

import csv
import re
from contextlib import ExitStack, nullcontext
from functools import cache
from importlib.resources import files
from pathlib import Path

import polars as pl
import pytest

from carryover.flows.cli.folders import find_results, open_warehouse
from carryover.tasks.analysis.queries import table_query
from carryover.tasks.services.errors import UserError
from carryover.tasks.stages import results
from carryover.tasks.stages.results import EPISODES, open_results, read_plans
from tests.flattening import flat
from tests.flows.cli.calling import run
from tests.tasks.viewer.bundle_parts import parts_of

RESULTS = Path(str(files("carryover.sql") / "results"))
KEPT = sorted(entry for entry in RESULTS.iterdir() if entry.is_dir())
README = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")
FINDINGS = "\n".join((RESULTS / name).read_text(encoding="utf-8") for name in ("README.md", "settings.md"))
FOUR_CONTRACTS = (RESULTS / "four_contracts.md").read_text(encoding="utf-8")
SIDE_BY_SIDE = (RESULTS / "side_by_side.md").read_text(encoding="utf-8")
SHOWN = {
    "batches": ["batches.svg"],
    "laptop_injected": [],
    "laptop_rl": [],
    "mixture": ["mixture.svg"],
    "lifetimes": ["lifetimes_as_trained.svg", "lifetimes_declared.svg"],
    "log_triage": ["cells_main_scratch_declared_names_calm.svg"],
    "map_exploration": ["cells_main_scratch_declared_names_near.svg"],
    "pretrained": ["cells_main_hub_declared_names_small.svg"],
    "pretrained_gpu": [],
    "pretrained_gpu_again": [],
    "pretrained_qwen": [],
}
"""Figures of pages that show others than the study's 2x2."""
MEGABYTE = 1_000_000
PLAYED_ANEW = ("a-a", "cap-binding", "header-none")
"""Variants of the play alone, by models of the variant `main`."""
REINFORCED = ("rl-other", "rl-own")
"""Variants of updates alone, from models of the variant `main`."""


@pytest.fixture(scope="module", autouse=True)
def opened_once():
    """Commands on the same kept results read one warehouse: to open it takes longer than to print a table."""
    with ExitStack() as at_end, pytest.MonkeyPatch.context() as patch:

        @cache
        def open_once(folder, claims):
            return nullcontext(at_end.enter_context(open_results(folder, claims)))

        patch.setattr(results, "open_results", lambda folder, claims: open_once(folder, tuple(claims)))
        yield


@pytest.mark.parametrize("folder", KEPT, ids=lambda folder: folder.name)
def test_kept_results_are_small_and_name_known_plans(folder):
    assert sum(file.stat().st_size for file in folder.iterdir()) < 3 * MEGABYTE
    digests = {plan.plan_digest for plan in read_plans(folder)}
    with open_warehouse(None, folder.name) as warehouse:
        rows = warehouse.sql("select distinct kept_plan_digest from marts.episode_metrics").rows()
    assert {digest for (digest,) in rows} == digests


@pytest.mark.parametrize("folder", KEPT, ids=lambda folder: folder.name)
def test_table_5_has_the_training_set_of_every_kept_model(folder):
    trained = pl.read_parquet(folder / EPISODES).filter(pl.col("train_contract").is_not_null())
    trained = trained.filter(~pl.col("variant").is_in((*PLAYED_ANEW, *REINFORCED)))
    with open_warehouse(None, folder.name) as warehouse:
        table_5 = warehouse.sql(table_query("table_5").sql, plan_digest=folder.name).polars()
    assert set(table_5["variant"]) == set(trained["variant"])
    halves = trained.filter(variant="shuffled-labels")["training_seed"].n_unique()
    assert table_5.filter(variant="shuffled-labels")["dataset_id"].n_unique() == halves


@pytest.mark.slow
def test_laptop_tables_and_verdicts_need_no_data_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cells = run("tables", "2", "--results", "laptop_full", "--format", "csv").splitlines()
    assert {"P->P", "P->S", "S->P", "S->S"} <= set(flat(line.split(",") for line in cells))
    assert "mismatch_breaks_names" in run("hypotheses", "--results", "laptop_full", "--format", "markdown")


def printed_table(name, results):
    """Return the lines of a table's rows, head first."""
    printed = run("tables", name, "--results", results, "--format", "markdown")
    return [line for line in printed.splitlines() if line.startswith("|")]


def test_the_findings_print_the_mechanism_as_the_command_does():
    table = printed_table("mechanism", "laptop_full")
    assert len(table) > 2
    assert "\n".join(table) in FINDINGS


def test_the_page_side_by_side_prints_the_rows_of_all_studies():
    *toys, easy, hard = printed_table("side_by_side", "laptop_full")
    _, _, scripts, model, *published = printed_table("side_by_side", "pretrained")
    _, _, same_scripts, model_on_gpu, *_ = printed_table("side_by_side", "pretrained_gpu")
    _, _, scripts_of_qwen, qwen, *_ = printed_table("side_by_side", "pretrained_qwen")
    assert published == [easy, hard]
    assert same_scripts == scripts
    assert "\n".join([*toys, scripts, model, model_on_gpu, scripts_of_qwen, qwen, easy, hard]) in SIDE_BY_SIDE


@cache
def _claims(results: str) -> tuple[list[dict[str, str]], re.Match[str], str]:
    """Return the verdicts on kept results, and both lines that count their distinct claims."""
    *lines, counts, fulfilled = run("hypotheses", "--results", results, "--format", "csv").splitlines()
    counted = re.match(r"(\d+) distinct claims in (\d+) verdicts: (\d+) hold, (\d+) do(?:es)? not", counts)
    assert counted is not None
    return list(csv.DictReader(lines)), counted, fulfilled


@pytest.mark.parametrize(
    ("results", "pages", "rest"),
    [
        pytest.param(
            "laptop_full",
            (README, FINDINGS),
            "{easy} of them forced, or by scripts where played",
            marks=pytest.mark.slow,
        ),
        ("laptop_injected", (FOUR_CONTRACTS,), "{missed} do not"),
    ],
)
def test_the_findings_count_the_claims_as_the_command_does(results, pages, rest):
    _, counted, fulfilled = _claims(results)
    claims, _, held, missed = counted.groups()
    easy = sum(map(int, re.findall(r"(\d+) (?:forced|fulfilled)", fulfilled)))
    for text in pages:
        assert f"{claims} distinct claims: {held} hold, {rest.format(easy=easy, missed=missed)}\n" in text


def test_findings_count_what_the_scripts_and_the_contract_fulfil():
    _, counted, fulfilled = _claims("laptop")
    claims, _, held, _ = counted.groups()
    assert claims == held
    assert f"All {claims} claims that apply to `laptop` hold for the scripts alone" in FINDINGS
    forced, by_scripts = re.findall(r"(\d+) (?:forced|fulfilled)", fulfilled)
    assert int(forced) + int(by_scripts) == int(claims)
    assert "six of them because the contract forces them" in FINDINGS
    assert forced == "6"


@pytest.mark.slow
def test_findings_count_verdicts_as_trained_and_on_common_base():
    verdicts, _, _ = _claims("laptop_full")
    held = [one for one in verdicts if one["verdict"] == "holds"]
    common = [sum(one["base"] == "common" for one in some) for some in (held, verdicts)]
    assert f"does too ({common[0]} of {common[1]} verdicts)" in FINDINGS
    assert f"{sum(one['visibility'] == 'as_trained' for one in held)} are of prompts as trained" in FINDINGS


@pytest.mark.slow
@pytest.mark.parametrize("folder", KEPT, ids=lambda folder: folder.name)
def test_figures_of_kept_results_are_drawn_without_a_data_folder(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written = run("figures", "--results", folder.name, "--folder", tmp_path).split()
    drawn = {Path(path).name: Path(path).read_text(encoding="utf-8") for path in written if path.endswith(".svg")}
    kept = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.svg")}
    assert sorted(kept) == SHOWN.get(folder.name, ["cells_main_scratch_declared_names_small.svg"])
    assert drawn
    assert kept.items() <= drawn.items()


@pytest.mark.slow
def test_report_of_kept_results_needs_no_data_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = run("report", "--results", "laptop", "--path", tmp_path / "page.html").strip()
    parts = parts_of(Path(path))
    assert parts["study"]["plan_digest"] == "laptop"
    assert "P->S" in [cell["condition"] for cell in parts["study"]["cells"]]
    assert "table_2" in [table["name"] for table in parts["tables"]["tables"]]


def test_results_that_are_not_there_are_named_with_the_choices():
    with pytest.raises(
        UserError, match=r"no results 'paper'; give a folder that `carryover keep` wrote, or one of batches, laptop"
    ):
        find_results("paper")


@pytest.mark.parametrize(
    ("results", "tables", "page"),
    [
        ("map_exploration", ("cells", "family_metrics"), "families.md"),
        ("log_triage", ("cells", "family_metrics"), "families.md"),
        ("batches", ("batches",), "batches.md"),
        ("lifetimes", ("lifetimes",), "lifetimes.md"),
        ("laptop_rl", ("reinforcement", "cells"), "reinforcement.md"),
    ],
)
def test_pages_of_other_studies_print_their_rows(results, tables, page):
    text = (RESULTS / page).read_text(encoding="utf-8")
    for words in (*(("tables", table) for table in tables), ("hypotheses",)):
        printed = run(*words, "--results", results, "--format", "markdown").strip()
        assert "\n| " in printed
        assert printed in text
