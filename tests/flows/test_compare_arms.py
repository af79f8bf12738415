"""CaveAgent's studies as one command: played, landed, merged, printed, and not played twice."""

import csv
import io
import json
import re
from contextlib import nullcontext

import httpx
import pytest

from carryover.flows import compare_arms as flow_module
from carryover.flows.compare_arms import compare_arms
from carryover.storage.warehouse.reader import Warehouse
from carryover.tasks.cave.arms.plan import SuitePlan
from carryover.tasks.play_cases import PlayedCount
from carryover.tasks.services.errors import UserError
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


@pytest.fixture
def calls_of(steps):
    """Play a plan with suites that count as given; return the calls of the flow's steps."""

    def play(plan, *counts):
        left = iter(counts)
        calls = steps(
            flow_module,
            prepare_lessons=lambda seed: f"lessons {seed}",
            train_arm=lambda arm, prepared: f"model of {arm} from {prepared}",
            open_comparison=lambda plan: nullcontext("the run"),
            served_plans=lambda plan, folders: nullcontext({arm: (arm, folders.get(arm)) for arm in plan.arms}),
            play_suite=lambda *_: next(left),
            wait=None,
            merge_comparison=None,
            say=None,
        )
        compare_arms.fn(plan)
        return calls

    return play


def test_every_suite_is_played_under_every_arm(calls_of):
    plan = SuitePlan(suites=("types", "token_efficiency"), arms=("json", "code_act"))
    calls = calls_of(plan, PlayedCount(3, 0), PlayedCount(4, 0), PlayedCount(0, 0), PlayedCount(5, 0))
    assert [call for call in calls if call[0] != "wait"] == [
        ("open_comparison", plan),
        ("served_plans", plan, {}),
        ("play_suite", ("json", None), "types", "json", "the run"),
        ("play_suite", ("code_act", None), "types", "code_act", "the run"),
        ("play_suite", ("json", None), "token_efficiency", "json", "the run"),
        ("play_suite", ("code_act", None), "token_efficiency", "code_act", "the run"),
        ("merge_comparison", "the run"),
        ("say", "12 episodes played; `carryover cave tables` shows them"),
    ]


def test_failed_episodes_are_told_to_be_played_again(calls_of):
    plan = SuitePlan(suites=("types",), arms=("json", "code_act"))
    *_, last = calls_of(plan, PlayedCount(3, 1), PlayedCount(4, 2))
    assert last == ("say", "3 ended with an error and do not count; the same command plays them again")


def test_trained_arms_are_played_by_their_own_models(calls_of):
    plan = SuitePlan(model="laptop", suites=("multi_variable",), arms=("stateless_code",), case_seed=4)
    calls = calls_of(plan, PlayedCount(1, 0))
    model = "model of stateless_code from lessons 4"
    assert calls[:3] == [
        ("prepare_lessons", 4),
        ("train_arm", "stateless_code", "lessons 4"),
        ("open_comparison", plan),
    ]
    assert ("play_suite", ("stateless_code", model), "multi_variable", "stateless_code", "the run") in calls


def test_a_model_without_endpoint_is_refused_before_the_run(steps):
    calls = steps(flow_module, open_comparison=None)
    with pytest.raises(UserError, match="model 'm' has no endpoint; give --endpoint-url"):
        compare_arms.fn(SuitePlan(model="m"))
    assert calls == []
