import os
import re
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pytest
from typer.testing import CliRunner

from carryover.flows.cli.main import app
from carryover.storage.warehouse.readers_copy import readers_copy_path
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits
from carryover.tasks.runtime.sandbox.launch import SandboxStartError
from carryover.tasks.runtime.sandbox.level import SandboxUnavailableError
from carryover.tasks.services.environment import describe_environment
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.folders import name_folders
from carryover.tasks.stages.runs import start_run
from carryover.tasks.traces.result_rows import CheckResultRow
from tests.flows.cli.calling import call, import_records, run
from tests.storage.conftest import build_row
from tests.tasks.viewer.bundle_parts import parts_of

WHEN = datetime(2026, 1, 1, tzinfo=UTC)

CHAT = [
    {"role": "user", "content": "Count."},
    {"role": "assistant", "content": "First I look.\n```python\nx = len(list_items())\n```"},
    {"role": "user", "content": '{"output": "seven", "error": null}'},
    {"role": "assistant", "content": "Done.\n```python\nfinish()\n```"},
]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A data folder with one imported episode."""
    home = tmp_path_factory.mktemp("main") / "data"
    options = ("--contract", "persistent", "--family", "knapsack")
    import_records(home, [{"instance_id": "one", "messages": CHAT}], *options)
    return home


@pytest.mark.parametrize(
    ("table_format", "printed"),
    [("csv", "1,one"), ("markdown", "| 1 | one |"), ("latex", "1 & one"), ("rich", "1 one")],
)
def test_a_query_prints_its_rows_in_every_format(home, table_format, printed):
    sql = "select count(*) as episode_count, instance_id from episodes group by all"
    done = call("query", sql, "--format", table_format, "--home", home)
    assert printed in " ".join(done.stdout.split())
    assert done.stderr == ""


@pytest.mark.parametrize("command", [("query", "from episodes"), ("lint",)])
def test_answers_keep_to_the_terminals_width(home, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "60")
    lines = run(*command, "--home", home).splitlines()
    assert len(lines) > 10
    assert max(map(len, lines)) <= 60


def test_long_answer_is_cut_only_on_a_screen(home):
    sql = "select range as number from range(1234)"
    printed = call("query", sql, "--home", home)
    assert printed.stderr == "the first 200 of 1,234 rows; --format csv prints all\n"
    shown = printed.stdout.split()
    assert ("199" in shown, "200" in shown) == (True, False)
    assert run("query", sql, "--format", "csv", "--home", home).splitlines()[-1] == "1233"


def test_an_empty_warehouse_says_how_to_fill_it(tmp_path):
    assert run("merge", "--home", tmp_path).startswith("0 bundles, 0 rows")
    with pytest.raises(UserError, match=r"is empty; `make demo` fills it .*`carryover merge`"):
        run("query", "select 1", "--home", tmp_path)


def test_outdated_metrics_are_told_with_the_remedy(tmp_path):
    import_records(tmp_path / "data", [{"instance_id": "one", "messages": CHAT}], "--contract", "persistent")
    asked = ("query", "select 1 as answer", "--format", "csv", "--home", tmp_path / "data")
    assert call(*asked).stderr == ""
    folders = name_folders(tmp_path / "data")
    with duckdb.connect(str(readers_copy_path(folders.warehouse))) as connection:
        connection.execute("update main.refreshed_marts set sql_digest = 'of another version'")
    told = call(*asked)
    assert told.stdout.split() == ["answer", "1"]
    assert told.stderr == (
        f"the metrics in {folders.warehouse} are of another version; `carryover merge` computes them again\n"
    )


def test_episode_is_replayed_from_an_id_prefix(home):
    header, episode_id = run("query", "select episode_id from episodes", "--format", "csv", "--home", home).split()
    replay = run("episode", episode_id[:6], "--home", home)
    assert header == "episode_id"
    for part in ("First I look.", "x = len(list_items())", "seven", "finish_tool after 2 turns"):
        assert part in replay
    with pytest.raises(UserError, match="no episode has the instance 'zzz'"):
        run("episode", "zzz", "--home", home)


def test_a_run_does_not_differ_from_itself(home):
    _, run_id = run("query", "select run_id from runs", "--format", "csv", "--home", home).split()
    assert "nothing differs" in run("diff", run_id, run_id, "--home", home)
    assert "nothing differs" in run("diff", run_id[:10], run_id, "--home", home)
    with pytest.raises(UserError, match=f"no run 'other'; the latest are {run_id}"):
        run("diff", run_id, "other", "--home", home)


def test_the_servers_of_two_runs_are_told_apart(tmp_path, monkeypatch):
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path))
    monkeypatch.delenv("CARRYOVER_LANDING", raising=False)
    plan, studies = resolve_plan("smoke"), []
    for version in ("0.31.0", "0.32.0"):
        with start_run("reproduce_study", plan, Limits()) as study:
            served = {"server": {"engine": "vllm", "version": version, "command": ["vllm", "serve", version[-3]]}}
            with start_run("serve_models", plan, Limits(), joined_run=study.run_id, environment=served):
                studies.append(study.run_id)
    run("merge")
    with pytest.raises(UserError, match=f"several runs start with '2': .*{studies[0]}"):
        run("diff", "2", studies[0])
    assert run("diff", *studies).splitlines() == [
        "servers[0].command[2]: '1' in the first, '2' in the second",
        "servers[0].version: '0.31.0' in the first, '0.32.0' in the second",
    ]


def test_tables_figures_and_report_of_a_plan_are_written(home):
    assert "imported rows,1,1," in run("tables", "2", "--plan", "import", "--format", "csv", "--home", home)
    drawn = run("figures", "--plan", "import", "--home", home).split()
    assert [path for path in drawn if not path.endswith(".svg")] == []
    page = Path(run("report", "--plan", "import", "--home", home).strip())
    assert page == home / "documents" / "report.html"
    assert parts_of(page)["study"]["plan_digest"] == "import"
    (caption,) = {Path(path).with_suffix(".txt").read_text() for path in drawn if "figure_2" in path}
    assert "The limits of the axes are ours." in caption


def test_doctor_says_what_is_installed_and_how_the_warehouse_is(home, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "900")
    monkeypatch.delenv("CARRYOVER_LANDING", raising=False)
    machine, packages, sandbox, zone, warehouse = run("doctor", "--home", home).splitlines()
    environment = describe_environment()
    assert machine == (
        f"Python {environment['python']} on {environment['system']}, {environment['processor_count']} cores, GPU "
        f"{environment['gpu'] or 'none'}"
    )
    assert packages == ", ".join(f"{name} {version}" for name, version in environment["packages"].items())
    assert sandbox.startswith("sandbox level ")
    assert zone == f"landing zone {home}/landing: {len(LandingZone(home / 'landing').manifests().bundles)} bundles"
    counts = re.sub(r"statistics \d+", "statistics n", warehouse)
    assert counts == (
        f"warehouse {home}/warehouse.duckdb: runs 1, instances 0, episodes 1, steps 2, training_runs 0, statistics n, "
        "quarantine 0"
    )
    assert "no data folder" in run("doctor", "--home", tmp_path / "typo")
    assert not (tmp_path / "typo").exists()


def test_doctor_names_broken_checks_and_unmerged_bundles(home, tmp_path):
    shutil.copytree(home, tmp_path / "data")
    broken = {"episodes": "episode_tokens_add_up", "training_runs": "training_run_loss_is_finite"}
    checks = [
        build_row(CheckResultRow, check_run_id="r", suite=suite, check_name=name, is_passed=False, checked_at=WHEN)
        for suite, name in broken.items()
    ]
    mended = {"check_run_id": "s", "is_passed": True, "checked_at": WHEN + timedelta(hours=1)}
    checks += [checks[0].model_copy(update={"check_name": "mended", **later}) for later in ({}, mended)]
    LandingZone(tmp_path / "data" / "landing").write({"check_results": checks}, "run")
    said = run("doctor", "--home", tmp_path / "data")
    assert "1 landed bundles are not merged yet; `carryover merge` takes them in" in said
    assert "latest checks" not in said
    run("merge", "--home", tmp_path / "data")
    said = " ".join(run("doctor", "--home", tmp_path / "data").split())
    assert f"latest checks failed: {', '.join(broken.values())}; see the table check_results" in said
    os.utime(readers_copy_path(tmp_path / "data" / "warehouse.duckdb"), (0, 0))
    assert "the readers' copy is older than the warehouse" in run("doctor", "--home", tmp_path / "data")


BROKEN_SANDBOXES = {
    SandboxStartError: "the sandbox did not start at level seccomp: killed",
    SandboxUnavailableError: "bwrap+seccomp is required, and blocks would run at none",
}


@pytest.mark.parametrize("error", BROKEN_SANDBOXES)
def test_doctor_tells_of_a_broken_sandbox_and_goes_on(home, monkeypatch, error):
    def fail(spec):
        raise error(BROKEN_SANDBOXES[error])

    monkeypatch.setattr("carryover.flows.cli.machine.doctor.open_runtime", fail)
    said = " ".join(run("doctor", "--home", home).split())
    assert f"sandbox broken: {BROKEN_SANDBOXES[error]}" in said
    assert "episodes 1" in said


def test_doctor_and_diff_name_reevaluation_by_another_source(tmp_path, monkeypatch):
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path))
    monkeypatch.delenv("CARRYOVER_LANDING", raising=False)
    plan = resolve_plan("smoke")
    with start_run("reproduce_study", plan, Limits()) as study:
        pass
    monkeypatch.setattr("carryover.tasks.stages.runs.current_source", lambda: "newer")
    with start_run("reevaluate_model", plan, Limits()) as again:
        pass
    run("merge")
    assert "re-evaluations on other source than their study's: 1 (0 episodes);" in run("doctor")
    told = " ".join(run("diff", study.run_id, again.run_id).split())
    assert f"environment.source: '{plan.source}' in the first, 'newer' in the second" in told


def test_claims_of_the_papers_are_printed_for_files_not_screens(home):
    title = "Published claims and errata of both papers"
    assert title not in " ".join(run("tables", "--home", home).split())
    assert title in run("tables", "--home", home, "--format", "markdown")


@pytest.mark.parametrize("group", [(), ("family",), ("cave",), ("stage",)])
def test_a_group_without_a_command_lists_its_commands(group):
    done = CliRunner().invoke(app, [*group])
    assert "Usage: " in done.output
    assert "Commands:" in done.output
    assert "completion" not in done.output  # a shell's files are its owner's


def test_data_folder_is_taken_where_none_is_read(tmp_path):
    missing = tmp_path / "missing"
    assert run("schema", "episodes", "--format", "csv", "--home", missing) == run(
        "schema", "episodes", "--format", "csv"
    )
    assert not missing.exists()
