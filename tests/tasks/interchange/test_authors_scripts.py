"""What the authors' scripts compute on our exports, told in our words, is what SQL gives on our rows."""

import json
import re
from collections import defaultdict
from statistics import fmean
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from carryover.flows.cli.folders import find_results
from carryover.tasks.analysis.compute import compute_statistics
from carryover.tasks.analysis.queries import table_query
from carryover.tasks.interchange.authors import authors_documents, write_authors
from carryover.tasks.readers.import_setting import ImportSetting
from carryover.tasks.readers.importing import import_traces
from carryover.tasks.stages.results import EPISODES, open_results

CALL_SITE = re.compile(r"\b(inspect|take_item|list_items|finish)\s*\(")


def read_pairs(directory):
    """Return the trace and the result of every task in a folder, by the task's number."""
    paths = sorted(directory.glob("*.trace.json"))
    return {
        path.name.removesuffix(".trace.json").rpartition("-")[2]: (
            json.loads(path.read_text()),
            json.loads(path.with_name(path.name.replace(".trace", "")).read_text()),
        )
        for path in paths
    }


def trace_stats(directory):
    """Return the means of `scripts/get_trace_stats.py` for a folder, under the names of our Table 1."""
    columns = defaultdict(list)
    for trace, result in read_pairs(directory).values():
        blocks = [event["data"] for event in trace["events"] if event["type"] == "StepEvent"]
        columns["avg_steps_per_episode"].append(trace["summary"]["num_steps"] or len(blocks))
        columns["avg_total_tokens_per_episode"].append(trace["summary"]["token_usage"]["total_tokens"])
        columns["avg_tool_calls_per_episode"].append(
            sum(len(CALL_SITE.findall(block["code"])) for block in blocks if block["code"])
        )
        if outcome := result.get("result"):
            metrics = outcome["metrics"]
            columns["teacher_success_rate"].append(100 * outcome["is_solved"])
            columns["avg_teacher_optimality"].append(outcome["score"])
            columns["avg_items_inspected"].append(metrics["inspected_count"])
            columns["avg_capacity_utilization"].append(100 * metrics["weight_used"] / metrics["capacity"])
    return {name: fmean(values) for name, values in columns.items()}


def compare_benchmarks(first, second):
    """Return W, p, effect size and mean difference in points, as `scripts/compare_benchmarks.py` does by task."""
    a, b = (
        {task: 100 * result.get("result", {}).get("score", 0.0) for task, (_, result) in read_pairs(each).items()}
        for each in (first, second)
    )
    differences = [a[task] - b[task] for task in sorted(a.keys() & b.keys())]
    nonzero_count = sum(difference != 0 for difference in differences)
    test: Any = stats.wilcoxon(differences)
    effect_size = 1 - 2 * test.statistic / (nonzero_count * (nonzero_count + 1))
    return test.statistic, test.pvalue, effect_size, fmean(differences)


def table_1(warehouse, plan_digest):
    rows = warehouse.sql(table_query("table_1").sql, plan_digest=plan_digest).arrow().to_pylist()
    return {contract: {row["metric"]: row[contract] for row in rows} for contract in ("persistent", "stateless")}


def folder_of(root, contract):
    (folder,) = root.glob(f"*/*/*-{contract}-easy*")
    return folder


def test_the_trace_statistics_are_those_of_table_1(played, merge_rows, tmp_path):
    write_authors(played.traces(), tmp_path / "files")
    with merge_rows(played.rows, "run", tmp_path) as warehouse:
        measured = table_1(warehouse, "plan")
    for contract in ("persistent", "stateless"):
        expected = trace_stats(folder_of(tmp_path / "files", contract))
        assert len(expected) == 7
        assert {name: measured[contract][name] for name in expected} == pytest.approx(expected)


def test_what_is_imported_again_has_the_same_numbers(played, merge_rows, tmp_path):
    write_authors(played.traces(), tmp_path / "files")
    setting = ImportSetting(run_id="import", runtime_contract="persistent", purpose="teacher")
    tables = {}
    for imported in import_traces(tmp_path / "files", setting):
        for table, rows in imported.tables().items():
            tables.setdefault(table, []).extend(rows)
    with merge_rows(tables, "import", tmp_path) as warehouse:
        measured = table_1(warehouse, "import")
    for contract in ("persistent", "stateless"):
        expected = trace_stats(folder_of(tmp_path / "files", contract))
        expected.pop("avg_capacity_utilization")  # the capacity is the instance's, which these files do not hold
        assert {name: measured[contract][name] for name in expected} == pytest.approx(expected)


def test_the_summary_is_that_of_table_2(study):
    warehouse, folders = study
    rows = warehouse.sql(table_query("table_2").sql, plan_digest="plan").arrow().to_pylist()
    for row, folder in zip(rows, folders, strict=True):
        summary = json.loads((folder / "summary.json").read_text())
        assert (row["episode_count"], row["solved_count"]) == (
            summary["num_tasks_executed"],
            summary["num_tasks_solved"],
        )
        assert row["score_pct"] == pytest.approx(100 * summary["metrics"]["score"]["mean"])
        assert row["mean_steps"] == summary["average_steps"] == 2
        thousands = summary["average_total_tokens"] / 1000
        assert row["score_per_1k_total_tokens"] == pytest.approx(100 * summary["metrics"]["score"]["mean"] / thousands)
        assert row["mean_total_tokens"] == summary["average_total_tokens"] == pytest.approx(10 + 5 + 3.5)
        assert row["mean_seconds"] == pytest.approx(summary["average_runtime"], abs=1e-6)
        assert summary["average_runtime"] == pytest.approx(0.25 * 3.5, abs=1e-6)
        assert summary["average_is_solved"] == row["solved_count"] / 6
    mismatched = json.loads((folders[1] / "summary.json").read_text())["metrics"]["score"]
    assert mismatched == pytest.approx({"mean": 0.55, "median": 0.45, "min": 0.1, "max": 1.0})


def half_interval(scores):
    """Return half the 95 % interval of the mean as `scripts/main_table.py` takes it, from 5,000 sorted means."""
    draws = np.random.default_rng(0).choice(scores, size=(5_000, len(scores)))
    means = np.sort(draws.mean(axis=1))
    return (means[4874] - means[125]) / 2


def test_interval_half_widths_agree_with_the_authors_within_a_tenth():
    folder = find_results("laptop")
    with open_results(folder) as results:
        rows = results.sql(table_query("table_2").sql, plan_digest=folder.name).arrow().to_pylist()
    kept = pl.read_parquet(folder / EPISODES).filter(pl.col("base") != "teacher", purpose="evaluation", is_counted=True)
    scores = dict(kept.group_by("condition").agg("score").iter_rows())
    ours = {row["condition"]: row["score_ci_half_width_pct"] for row in rows}
    assert ours.keys() == scores.keys()
    authors = {condition: 100 * half_interval(own) for condition, own in scores.items()}
    assert authors == pytest.approx(ours, abs=0.1)
    assert max(ours.values()) > 1


def test_the_comparison_is_that_of_table_7(study):
    warehouse, folders = study
    episodes = warehouse.sql("select * from marts.episode_metrics").polars()
    rows = compute_statistics(episodes, plan_digest="plan", run_id="run")
    (test,) = [row for row in rows if row.analysis == "wilcoxon" and row.metric == "score"]
    statistic, p_value, effect_size, difference = compare_benchmarks(*folders)
    # differences 0, 50, -15, 60, 65, 5: ranks 3, -2, 4, 5, 1
    assert (statistic, effect_size, difference) == pytest.approx((2.0, 1 - 4 / 30, 27.5))
    assert (test.statistic, test.p_value, test.effect_size_authors) == pytest.approx((statistic, p_value, effect_size))
    assert 100 * (test.estimate or 0) == pytest.approx(difference)


def test_where_no_reply_held_a_block_the_script_counts_replies(evaluated, tmp_path):
    silent = evaluated("PP", 1, 0.0, [None, None])
    (path,) = write_authors([silent], tmp_path)
    assert len(silent.steps) == json.loads(path.read_text())["summary"]["num_steps"] == 0
    (pair,) = read_pairs(path.parent).values()
    assert sum(event["type"] == "StepEvent" for event in pair[0]["events"]) == 2


def test_an_episode_without_a_score_has_no_result(evaluated):
    unscored = evaluated("PP", 1, 0.5)
    unscored = unscored._replace(episode=unscored.episode.model_copy(update={"score": None}))
    assert "result" not in authors_documents(unscored).result
