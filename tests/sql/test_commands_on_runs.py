"""The commands' queries about runs, plans, checks, bundles and servers; rows worked out by hand."""

import json
from datetime import timedelta

import pytest

from carryover.tasks.analysis.queries import command_sql
from carryover.tasks.traces.result_rows import CheckResultRow
from carryover.tasks.traces.study_rows import RunEndRow, RunRow
from tests.sql.hand_made_warehouse import NOW
from tests.storage.conftest import build_row


@pytest.fixture
def run(warehouse):
    """Add a run that starts some hours after the first one, and its end if `ended` is given."""

    def add(run_id, hours=0, *, ended=None, status="finished", **values):
        started = {"started_at": NOW + timedelta(hours=hours), "plan_json": "{}", "environment_json": "{}"}
        warehouse.add(build_row(RunRow, **{"run_id": run_id, "plan_digest": "plan", **started, **values}))
        if ended is not None:
            finished_at = NOW + timedelta(hours=ended)
            warehouse.add(build_row(RunEndRow, run_id=run_id, status=status, finished_at=finished_at))

    return add


@pytest.fixture
def check(warehouse):
    """Add a check's result of some hours after the first one."""

    def add(name, hours, *, passed=True, suite="nightly", **values):
        place = {"check_name": name, "suite": suite, "check_run_id": f"{suite} {hours}"}
        checked_at = NOW + timedelta(hours=hours)
        warehouse.add(build_row(CheckResultRow, **(place | values), is_passed=passed, checked_at=checked_at))

    return add


def ask(warehouse, command, **parameters):
    """Return the rows of a command's query as tuples."""
    return [tuple(row.values()) for row in warehouse.sql(command_sql(command), **parameters)]


def test_a_check_is_broken_by_its_latest_result_in_a_suite(warehouse, check):
    check("mended", 1, passed=False)
    check("mended", 2)
    check("worse", 1)
    check("worse", 2, passed=False)
    check("also_worse", 2, passed=False)
    check("elsewhere", 1, passed=False, suite="gate")
    check("elsewhere", 2)
    assert ask(warehouse, "broken_checks") == [("also_worse",), ("elsewhere",), ("worse",)]


def test_checks_of_a_plan_are_those_of_each_suites_newest_run(warehouse, run, check):
    run("run")
    run("other", plan_digest="other")
    check("counts", 1, passed=False, row_count=4, unexpected_count=3)
    check("counts", 2, row_count=5, unexpected_count=0)
    check("scores", 2, passed=False, row_count=5, unexpected_count=1)
    check("again", 2, check_run_id="a smaller id", row_count=9)
    check("before", 1, check_run_id="z", row_count=9)
    check("a check", 2, row_count=6, unexpected_count=0)
    check("gate", 1, suite="gate", row_count=2, unexpected_count=0)
    check("not ours", 1, suite="other", run_id="other")
    assert ask(warehouse, "plan_checks", plan_digest="plan") == [
        ("broken", "nightly", "scores", 5, 1),
        ("passed", "gate", "gate", 2, 0),
        ("passed", "nightly", "a check", 6, 0),
        ("passed", "nightly", "counts", 5, 0),
    ]


def test_a_run_is_found_by_the_beginning_of_its_id(warehouse, run):
    for number in reversed(range(8)):
        run(f"ab{number}", plan_name="laptop")
    run("xab")
    found = ask(warehouse, "described_runs", start="ab")
    assert [row[0] for row in found] == ["ab0", "ab1", "ab2", "ab3", "ab4", "ab5"]
    assert found[0] == ("ab0", "laptop", "{}", "{}")


def test_latest_runs_are_the_five_that_started_last(warehouse, run):
    for number in range(7):
        run(f"run {number}", hours=number)
    assert [name for (name,) in ask(warehouse, "latest_runs")] == ["run 6", "run 5", "run 4", "run 3", "run 2"]


def test_plans_are_known_by_the_start_of_their_latest_run(warehouse, run):
    run("a", 1, plan_digest="early and late")
    run("b", 3, plan_digest="early and late")
    run("c", 2, plan_digest="between")
    run("d", 2, plan_digest="also between")
    assert ask(warehouse, "known_plans") == [("early and late",), ("also between",), ("between",)]


def test_latest_comparison_is_the_one_that_finished_last(warehouse, run):
    comparison = {"flow": "compare_arms"}
    assert ask(warehouse, "latest_comparison") == []
    run("z", 5, ended=6, plan_digest="early", **comparison)
    run("a twin", 1, ended=7, plan_digest="of a smaller id", **comparison)
    run("b", 1, ended=7, plan_digest="late", **comparison)
    run("c", ended=8, plan_digest="failed", status="failed", **comparison)
    run("d", ended=9, plan_digest="study", flow="reproduce_study")
    run("e", 9, plan_digest="under way", **comparison)
    assert ask(warehouse, "latest_comparison") == [("late",)]


@pytest.mark.parametrize(
    ("flows", "found"),
    [
        (["reproduce_study", "analyse_study"], "run 0"),
        (["reproduce_study", "reproduce_study", "evaluate_models"], "run 1"),
        (["evaluate_models", "analyse_study"], "run 1"),
    ],
)
def test_a_report_is_about_the_latest_whole_study(warehouse, run, flows, found):
    for number, flow in enumerate(flows):
        run(f"run {number}", hours=number, flow=flow)
    run("other", 9, plan_digest="other", flow="reproduce_study")
    (row,) = warehouse.sql(command_sql("study_run"), plan_digest="plan")
    assert (row["run_id"], row["status"], row["finished_at"]) == (found, None, None)


def test_the_studys_run_tells_its_end(warehouse, run):
    run("study", ended=2, status="failed")
    (row,) = warehouse.sql(command_sql("study_run"), plan_digest="plan")
    assert (row["status"], row["finished_at"]) == ("failed", NOW + timedelta(hours=2))


def test_servers_of_a_run_are_those_that_joined_it(warehouse, run):
    def serve(run_id, hours, joined, flow="serve_models"):
        environment = {"server": {"name": run_id}, "joined_run": joined}
        run(run_id, hours, flow=flow, environment_json=json.dumps(environment))

    serve("second", 2, "study")
    serve("first", 1, "study")
    serve("another's", 1, "other")
    serve("no server", 1, "study", flow="evaluate_models")
    found = [json.loads(server)["name"] for (server,) in ask(warehouse, "run_servers", run_id="study")]
    assert found == ["first", "second"]


def test_flows_of_a_plan_are_told_once_and_without_imports(warehouse, run):
    run("a", flow="reproduce_study")
    run("b", flow="reproduce_study")
    run("c", flow="import")
    run("d", flow="compare_arms", plan_digest="other")
    assert ask(warehouse, "other_flows", plan="plan") == [("reproduce_study",)]


def test_reevaluations_of_another_source_are_counted_with_their_episodes(warehouse, run):
    of_plan = {"plan_json": json.dumps({"source": "a"})}
    again = {"flow": "reevaluate_model"}
    run("other", source="b", **again, **of_plan)
    run("other without episodes", source="b", **again, **of_plan)
    run("same", source="a", **again, **of_plan)
    run("study", source="b", flow="reproduce_study", **of_plan)
    run("plan in prose", source="b", plan_json="a plan", **again)
    for run_id, count in (("other", 2), ("same", 1), ("study", 1)):
        for _ in range(count):
            warehouse.episode(run_id=run_id)
    assert ask(warehouse, "other_sources") == [(2, 2)]


def test_merged_bundles_are_in_order_of_their_ids(warehouse):
    columns = "bundle_id, run_id, landing_url, row_count, merged_at"
    for values in ("'b', 'run 1', 'file://b', 2", "'a', 'run 2', 'file://a', 3"):
        warehouse.sql(f"insert into merged_bundles ({columns}) values ({values}, now())")
    try:
        assert ask(warehouse, "merged_bundles") == [("a", "run 2", "file://a", 3), ("b", "run 1", "file://b", 2)]
    finally:
        warehouse.sql("delete from merged_bundles")
