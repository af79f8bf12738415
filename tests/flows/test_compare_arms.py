"""CaveAgent's studies as one command: played, landed, merged, printed, and not played twice."""

import csv
import io
import json
import re

import httpx
import pytest

from carryover.storage.warehouse.reader import Warehouse
from tests.flows.flow_process import run_flow

ARMS = ("persistent_code", "stateless_code", "code_act", "code_to_file", "json", "json_python")
SMALL = ("--suites", "multi_variable", "--case-limit", "2", "--replicates", "2")


@pytest.fixture(scope="module")
def home(prefect_api, tmp_path_factory):
    folder = tmp_path_factory.mktemp("arms") / "data"
    run_flow(folder, "cave run", *SMALL, "--arms", "persistent_code,json", server=prefect_api)
    run_flow(folder, "cave run", *SMALL, server=prefect_api)
    return folder


@pytest.mark.prefect
def test_every_episode_is_played_once(home):
    with Warehouse.open(home / "warehouse.duckdb") as warehouse:
        counts = dict(warehouse.sql("select arm, count(*) from cave_turns group by all").rows())
        assert counts == dict.fromkeys(ARMS, 2 * 2 * 3)
        assert warehouse.sql("select count(distinct run_id) from episodes").rows() == [(2,)]
        groups = warehouse.sql("select distinct analysis, comparison_group from statistics").rows()
    first, *others = ARMS
    assert set(groups) == {*(("arm_mean", arm) for arm in ARMS), *(("paired", f"{first}-{arm}") for arm in others)}


@pytest.mark.prefect
@pytest.mark.usefixtures("home")
def test_runs_are_named_and_tagged(prefect_api):
    asked = {"flows": {"name": {"any_": ["compare-arms"]}}}
    runs = httpx.post(f"{prefect_api}/flow_runs/filter", json=asked, timeout=60).json()
    assert runs
    for run in runs:
        assert re.fullmatch("arms-[0-9a-f]{4}", run["name"])
        assert {tag.partition(":")[0] for tag in run["tags"]} == {"plan", "stage"}


@pytest.mark.prefect
def test_table_3_stands_beside_the_published_one(home):
    printed = run_flow(home, "cave tables cave_table_3 --format csv")
    rows = [row for row in csv.DictReader(io.StringIO(printed)) if row["tier"] == "05"]
    assert {row["arm"] for row in rows} == set(ARMS)
    assert {row["played_by"] for row in rows} == {"oracle: shows only that the harness loses nothing"}
    assert {float(row["passed_pct"]) for row in rows} == {100.0}
    assert "Qwen3 Coder 94.4" in rows[0]["published_passed_pct"]


@pytest.mark.prefect
def test_rewards_are_exported_per_turn(home, tmp_path):
    run_flow(home, f"cave rewards {tmp_path}/rewards.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "rewards.jsonl").read_text().splitlines()]
    assert len(rows) == len(ARMS) * 2 * 2
    for row in rows:
        replies = sum(message["role"] == "assistant" for message in row["messages"])
        assert [reward["reward"] for reward in row["rewards"]] == [1, 1, 1]
        assert row["rewards"][-1]["last_reply"] == replies
