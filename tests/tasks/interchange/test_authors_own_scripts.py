"""The authors' own scripts, run as they stand in a checkout of their repository, print what our SQL gives."""

import json
import re
import subprocess
import sys
import tarfile

import pytest

from carryover.tasks.analysis.compute import compute_statistics
from carryover.tasks.analysis.queries import table_query
from carryover.tasks.interchange.authors import write_authors

pytestmark = pytest.mark.slow

PRINTED = {
    "Teacher Success Rate (%)": ("teacher_success_rate", 1),
    "Avg Teacher Optimality (0-1)": ("avg_teacher_optimality", 4),
    "Avg Capacity Utilization (%)": ("avg_capacity_utilization", 1),
    "Avg Items Inspected": ("avg_items_inspected", 1),
    "Avg Steps / Episode": ("avg_steps_per_episode", 2),
    "Avg Tool Calls / Episode": ("avg_tool_calls_per_episode", 2),
    "Avg Total Tokens / Episode": ("avg_total_tokens_per_episode", 0),
}
"""Lines of `scripts/get_trace_stats.py`: our metric of Table 1, and how many decimals the script prints."""


@pytest.fixture
def run_script(authors_scripts):
    """A function that runs a script of the checkout and returns what it prints."""

    def run(name, *arguments):
        command = [sys.executable, str(authors_scripts / name), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    return run


def packed(folder, path):
    with tarfile.open(path, "w:gz") as archive:
        archive.add(folder, arcname=folder.name)
    return path


def test_trace_statistics_are_those_of_table_1(played, merge_rows, tmp_path, run_script):
    write_authors(played.traces(), tmp_path / "files")
    folders = [next((tmp_path / "files").glob(f"*/*/*-{name}-easy*")) for name in ("persistent", "stateless")]
    printed = run_script("get_trace_stats.py", *folders)
    lines = [[cell.strip() for cell in line.split("|")] for line in printed.splitlines() if line.count("|") == 2]
    told = {metric: values for metric, *values in lines if metric in PRINTED}
    with merge_rows(played.rows, "run", tmp_path) as warehouse:
        rows = warehouse.sql(table_query("table_1").sql, plan_digest="plan").arrow().to_pylist()
    ours = {row["metric"]: (row["persistent"], row["stateless"]) for row in rows}
    assert told == {
        line: [f"{value:.{decimals}f}" for value in ours[metric]] for line, (metric, decimals) in PRINTED.items()
    }


def test_the_main_table_is_table_2(study, tmp_path, run_script):
    warehouse, folders = study
    names = {"persistent": "Persistent", "stateless": "Reset"}
    cells = [
        {"difficulty": "Easy", "train": "Persistent", "runtime": names[runtime], "path": str(folder / "summary.json")}
        for runtime, folder in zip(names, folders, strict=True)
    ]
    spec = tmp_path / "spec.json"
    spec.write_text(json.dumps({"cells": cells}))
    printed = re.sub(r"\\textbf\{([^{}]*)\}", r"\1", run_script("main_table.py", spec))
    _, *told = [line.removesuffix(r" \\").split(" & ")[1:] for line in printed.splitlines() if line.count(" & ") == 8]
    rows = warehouse.sql(table_query("table_2").sql, plan_digest="plan").arrow().to_pylist()
    assert [values for values in told if "?" not in values] == [
        [
            "Persistent",
            {"P->P": "Persistent", "P->S": "Reset"}[row["condition"]],
            f"{row['score_pct']:.1f}",
            str(row["solved_count"]),
            f"{row['mean_steps']:.2f}".rstrip("0").rstrip("."),
            f"{round(row['mean_total_tokens']):,}",
            f"{row['mean_seconds']:.1f}",
            f"{row['score_per_1k_total_tokens']:.2f}",
        ]
        for row in rows
    ]


def test_the_comparison_is_that_of_table_7(study, tmp_path, run_script):
    warehouse, folders = study
    archives = [packed(folder, tmp_path / f"{position}.tar.gz") for position, folder in enumerate(folders)]
    printed = run_script("compare_benchmarks.py", *archives)
    episodes = warehouse.sql("select * from marts.episode_metrics").polars()
    rows = compute_statistics(episodes, plan_digest="plan", run_id="run")
    (test,) = [row for row in rows if row.analysis == "wilcoxon" and row.metric == "score"]
    assert f"Paired: {test.pair_count} tasks" in printed
    assert f"W statistic: {test.statistic:.1f}\n" in printed
    assert f"p-value:     {test.p_value:.4e}\n" in printed
    assert f"Mean diff:   {100 * (test.estimate or 0):+.2f} pp\n" in printed
    assert f"Effect size (rank-biserial r): {test.effect_size_authors:.3f}\n" in printed
