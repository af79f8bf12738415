"""What the viewer's paths answer, over a small paired study."""

import json
from datetime import UTC, datetime

import polars as pl

from carryover.storage.warehouse.reader import Warehouse
from carryover.tasks.analysis.queries import table_query
from carryover.tasks.traces.result_rows import StatisticRow
from carryover.tasks.viewer.episode_columns import matching_episodes
from carryover.tasks.viewer.pages import PAGES, answer, as_json
from carryover.tasks.viewer.warehouse_rows import viewer_sql
from tests.flattening import flat
from tests.storage.conftest import build_row
from tests.tasks.viewer.packed_columns import unpacked_numbers, unpacked_words
from tests.tasks.viewer.viewer_home import make_viewer_home

STARTED = datetime(2026, 1, 1, tzinfo=UTC)


def test_study_counts_its_cells(ask):
    study = answer(ask, "plan", "study")
    cells = {cell["condition"]: cell for cell in study["cells"]}
    assert [*cells] == ["P->P", "P->S", "S->P", "S->S"]
    assert cells["P->S"]["missing_name_count"] == 2
    assert cells["P->S"]["missing_name_pct"] == 100
    assert cells["P->S"]["ended_count"] == 0
    assert cells["P->P"]["mean_tokens"] == 220
    assert {name: value for name, value in study.items() if name != "cells"} == {
        "plan_digest": "plan", "plan_name": "laptop", "scale": "smoke", "started_at": STARTED, "status": "finished",
        "measured_on": "laptop, not Qwen3-8B", "findings": ["No verdict: 2 instances in P->P: a verdict needs 20."],
        "plans": [{"plan_digest": "plan", "plan_name": "laptop", "scale": "smoke", "started_at": STARTED}],
        "has_training": False, "has_suites": False,
    }  # fmt: skip


def test_a_study_before_its_first_episode_has_a_page(tmp_path):
    home = make_viewer_home(tmp_path, instance_count=0)
    with Warehouse.open(home / "warehouse.duckdb") as warehouse:
        study = answer(lambda query, **asked: warehouse.sql(query, **asked).arrow(), "plan", "study")
    assert (study["measured_on"], study["cells"]) == ("no episodes", [])
    (finding,) = study["findings"]
    assert finding.startswith("No model has been trained")


def test_cells_are_those_of_the_table_of_cells(tmp_path):
    setting = {"variant": "main", "base": "scratch", "visibility": "declared", "header": "names", "bucket": "small"}
    cell = {"plan_digest": "plan", **setting, "train_a": "persistent", "runtime_a": "stateless", "analysis": "mean"}
    means = [("score", 0.25, 0.75), ("total_tokens", 300.0, 340.0), ("has_missing_name", 0.5, 1.0)]
    more = [
        build_row(
            StatisticRow, **cell, statistic_id=metric, metric=metric, interval_kind="percentile", low=low, high=high
        )
        for metric, low, high in means
    ]
    with Warehouse.open(make_viewer_home(tmp_path, more=more) / "warehouse.duckdb") as warehouse:
        shown = warehouse.sql(viewer_sql("cells"), plan_digest="plan").arrow().to_pylist()
        table = warehouse.sql(table_query("cells").sql, plan_digest="plan").arrow().to_pylist()
    shared = table[0].keys() & shown[0].keys()
    assert {"mean_tokens", "missing_name_pct_low", "score_pct_high", "episode_count", "ended_count"} <= shared
    trained = [row for row in shown if row["model"] == "sft"]
    assert [picked(row, shared) for row in trained] == [picked(row, shared) for row in table]
    mismatched = next(row for row in trained if row["condition"] == "P->S")
    assert (mismatched["score_pct_low"], mismatched["mean_tokens_high"], mismatched["missing_name_pct_low"]) == (
        25, 340, 50,
    )  # fmt: skip


def picked(row, names):
    return {name: row[name] for name in names}


def test_episodes_are_columns_with_coded_words(ask):
    columns = answer(ask, "plan", "episodes")["columns"]
    assert unpacked_words(columns["condition"]) == ["P->P", "P->S", "S->P", "S->S"] * 2
    assert unpacked_numbers(columns["instance_number"]) == [1] * 4 + [2] * 4
    assert unpacked_words(columns["error_kinds"]).count(None) == 6
    assert unpacked_numbers(columns["missing_name_count"]) == [0, 1, 0, 0] * 2


def test_episode_tells_turns_steps_calls_and_the_missing_name(ask):
    page = answer(ask, "plan", "episode/ps1")
    assert [turn["before"] for turn in page["turns"]] == ["Step 1.", "Step 2.", "Step 3."]
    assert page["turns"][0]["steps"][0]["calls"][0]["tool"] == "list_items"
    assert page["turns"][1]["errors"][0]["is_missing_name"]
    (missing,) = page["missing"]
    assert (missing["step"], missing["name"], missing["lost_step"], missing["bound_step"]) == (2, "items", 1, 1)
    assert page["opening"] == [{"role": "system", "content": "Pack the knapsack."}]
    assert page["episode"]["condition"] == "P->S"
    assert page["episode"]["capacity"] == 10


def test_a_run_has_its_plan_and_environment_as_objects(ask):
    assert answer(ask, "plan", "run") == {
        "run": {
            "run_id": "run", "flow": "study", "plan_name": "laptop", "plan_digest": "plan", "scale": "smoke",
            "source": None, "started_at": STARTED, "status": "finished", "finished_at": STARTED,
        },
        "plan": {},
        "environment": {},
    }  # fmt: skip


def test_a_condition_chooses_episodes(ask):
    assert matching_episodes(ask, "plan", "condition = 'P->S' -- the mismatched") == ["ps1", "ps2"]
    assert matching_episodes(ask, "another", "true") == []


def test_every_page_is_json(ask):
    for path in (*PAGES, "episode/pp1"):
        assert json.loads(as_json(answer(ask, "plan", path)))


def test_tables_are_sheets_of_text(ask):
    tables = {table["name"]: table for table in answer(ask, "plan", "tables")["tables"]}
    assert [name for name, table in tables.items() if not table["sheets"]] == []
    assert tables["table_2"]["title"] == "Table 2: quality and cost per cell; ours beside Qwen3-8B"
    (sheet,) = tables["table_2"]["sheets"]
    assert sheet.keys() == {"caption", "header", "styles", "rows"}
    assert sheet["caption"] == "variant main, base scratch, visibility declared, header names, bucket small"
    assert sheet["header"] == ("laptop, not Qwen3-8B", "P→P", "P→S", "S→P", "S→S")
    assert sheet["styles"] == ["long words", "", "", "", ""]
    assert sheet["rows"][1:4] == (
        ("episode count", "2", "2", "2", "2"),
        ("instance count", "2", "2", "2", "2"),
        ("score %", "100.0", "50.0", "100.0", "100.0"),
    )
    assert all(isinstance(cell, str) for cell in flat(sheet["rows"]))
    assert not [name for name in tables if name.startswith("figure_")]


def test_figures_are_named_drawings_with_captions(ask):
    figures = answer(ask, "plan", "figures")["figures"]
    assert [figure["name"] for figure in figures] == [
        "cells_main_scratch_declared_names_small",
        "figure_2_main_scratch_declared_names",
        "figure_3_main_scratch_declared_names",
    ]
    assert all(figure["caption"] and figure.keys() == figures[0].keys() for figure in figures)


def test_claims_that_hold_or_cannot_be_checked_stand_apart(ask):
    verdicts = {"claims": "differs", "claims_holds": "holds", "claims_unverifiable": "unverifiable"}
    claims = pl.DataFrame({"claim": [*verdicts], "verdict": [*verdicts.values()]}).to_arrow()

    def ask_with_claims(query, **parameters):
        if query == table_query("claims").sql:
            return claims
        return ask(query, **parameters)

    found = answer(ask_with_claims, "plan", "tables")["tables"]
    tables = {table["name"]: table["sheets"] for table in found}
    titles = {table["name"]: table["title"] for table in found}
    shown = {name: flat(sheet["rows"] for sheet in tables[name]) for name in verdicts}
    assert shown == {name: [(name, verdict)] for name, verdict in verdicts.items()}
    title = table_query("claims").title
    assert [(name, titles[name]) for name in titles if name in verdicts] == [
        ("claims", f"{title}: what does not simply hold"),
        ("claims_unverifiable", f"{title}: what nothing published gives"),
        ("claims_holds", f"{title}: what holds"),
    ]
