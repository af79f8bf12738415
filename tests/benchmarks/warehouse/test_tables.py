"""All tables of a large warehouse, and Tables 1 and 2 from trace JSON files in Python beside them."""

import json
import re
import time
from collections import defaultdict
from pathlib import Path
from statistics import fmean

import pytest
from duckdb import DuckDBPyConnection

from storage.connection import open_memory
from storage.marts import refresh_marts
from storage.migrations import migrate
from storage.schemas import to_arrow
from tasks.analysis.compute import compute_statistics
from tasks.analysis.queries import table_names, table_query

HERE = Path(__file__).parent
PARAMETERS = {"plan_digest": "plan", "tools_json": "[]"}
CALL_SITE = re.compile(r"\b(?:inspect|take_item|list_items|finish)\(")
STEPS_PER_TRACE = 5
CHARACTERS_PER_STEP = 2_500
SAMPLED_EPISODES = 1_600
"""Episodes that the landed statistics are computed from; how many rows they are does not depend on it."""


def make_warehouse(episode_count: int) -> DuckDBPyConnection:
    connection = open_memory()
    migrate(connection)
    for table, file in (("episodes", "many_episodes"), ("steps", "many_steps"), ("name_events", "many_events")):
        query = (HERE / f"{file}.sql").read_text(encoding="utf-8")
        parameters = {"episode_count": episode_count} if "$episode_count" in query else None
        connection.execute(f"insert into main.{table} by name {query}", parameters)
    return connection


def land_statistics(connection: DuckDBPyConnection) -> int:
    relation = connection.sql(f"from marts.episode_metrics order by instance_id limit {SAMPLED_EPISODES}")
    rows = compute_statistics(relation.pl(), plan_digest="plan", run_id="run")
    connection.register("arrived", to_arrow(rows))
    connection.execute("insert into main.statistics by name select * from arrived")
    return len(rows)


def seconds_of_tables(connection: DuckDBPyConnection, names: list[str]) -> float:
    start = time.perf_counter()
    for name in names:
        query = table_query(name)
        relation = connection.sql(query.sql, params={key: PARAMETERS[key] for key in query.parameters} or None)
        relation.to_arrow_table()
    return time.perf_counter() - start


@pytest.mark.benchmark
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("episode_count", "goal_seconds"), [(10_000, 1), (1_000_000, 15)])
def test_all_tables_together(episode_count, goal_seconds, capsys):
    connection = make_warehouse(episode_count)
    start = time.perf_counter()
    refresh_marts(connection)
    refreshed = time.perf_counter() - start
    statistic_count = land_statistics(connection)
    first, *warm = (seconds_of_tables(connection, table_names()) for _ in range(4))
    with capsys.disabled():
        print(
            f"\n{episode_count:,} episodes, {statistic_count} statistics: marts {refreshed:.1f} s; "
            f"{len(table_names())} tables {first:.2f} s, warm {min(warm):.2f} s (goal {goal_seconds} s)"
        )


@pytest.mark.benchmark
@pytest.mark.timeout(3600)
def test_tables_1_and_2_beside_python_over_trace_files(tmp_path, capsys):
    connection = make_warehouse(10_000)
    refresh_marts(connection)
    write_traces(connection, tmp_path)
    seconds_of_tables(connection, ["table_01", "table_02"])
    in_sql = min(seconds_of_tables(connection, ["table_01", "table_02"]) for _ in range(3))
    start = time.perf_counter()
    means = means_of_traces(tmp_path)
    in_python = time.perf_counter() - start
    assert len(means) == 16
    with capsys.disabled():
        print(
            f"\nTables 1 and 2 at 10,000 episodes: SQL {in_sql * 1000:.0f} ms, Python over JSON {in_python:.1f} s, "
            f"ratio {in_python / in_sql:.0f} (goal 20)"
        )


def write_traces(connection: DuckDBPyConnection, folder: Path) -> None:
    """Write a trace and a result file per episode, in the shape of the authors' files."""
    code = ("print(inspect(item_id))\n" * 200)[:CHARACTERS_PER_STEP]
    step = {"type": "StepEvent", "data": {"code": code, "token_usage": {"prompt_tokens": 500, "completion_tokens": 20}}}
    columns = ("episode_id", "purpose", "condition", "bucket", "score", "is_solved", "wall_seconds")
    for episode_id, purpose, condition, bucket, score, is_solved, seconds in connection.sql(
        f"select {', '.join(columns)} from marts.episode_metrics"
    ).fetchall():
        summary = {"cell": [purpose, condition, bucket], "num_steps": STEPS_PER_TRACE, "seconds": seconds}
        trace = {"summary": summary, "events": [step] * STEPS_PER_TRACE}
        result = {"result": {"is_solved": is_solved, "score": score, "metrics": {"weight_used": 20, "capacity": 50}}}
        (folder / f"{episode_id}.trace.json").write_text(json.dumps(trace), encoding="utf-8")
        (folder / f"{episode_id}.json").write_text(json.dumps(result), encoding="utf-8")


def means_of_traces(folder: Path) -> dict[tuple[str, ...], tuple[float, ...]]:
    """Average what Tables 1 and 2 show, cell by cell."""
    measured: dict[tuple[str, ...], list[tuple[float, ...]]] = defaultdict(list)
    for path in folder.glob("*.trace.json"):
        trace = json.loads(path.read_bytes())
        result = json.loads(path.with_name(path.name.replace(".trace", "")).read_bytes())["result"]
        steps = [event["data"] for event in trace["events"] if event["type"] == "StepEvent"]
        measured[tuple(trace["summary"]["cell"])].append(
            (
                result["score"],
                result["is_solved"],
                result["metrics"]["weight_used"] / result["metrics"]["capacity"],
                len(steps),
                sum(len(CALL_SITE.findall(step["code"])) for step in steps),
                sum(sum(step["token_usage"].values()) for step in steps),
                trace["summary"]["seconds"],
            )
        )
    return {cell: tuple(map(fmean, zip(*rows, strict=True))) for cell, rows in measured.items()}
