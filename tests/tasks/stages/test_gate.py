import json
import shutil
from pathlib import Path

import duckdb
import polars as pl
import pytest

from carryover.storage.errors import QueryError
from carryover.storage.warehouse.marts import refresh_marts
from carryover.storage.warehouse.migrations import migrate
from carryover.storage.warehouse.reader import Warehouse
from carryover.tasks.checks.suites import Check, Suite
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.progress import no_bar
from carryover.tasks.stages import gate
from carryover.tasks.stages.gate import CheckFile, check_files, gate_warehouse, require_same_counts
from carryover.tasks.traces.result_rows import CheckResultRow
from tests.bars import RecordedBars
from tests.storage.broken_studies import played_as_planned

CHECK_NAMES = {"table_rows_exist", "plan_instance_counts", *(check.name for check in check_files())}


@pytest.fixture(scope="module")
def sound_study(tmp_path_factory, study_rows, insert_rows) -> Path:
    path = tmp_path_factory.mktemp("sound") / "study.duckdb"
    with duckdb.connect(path) as connection:
        migrate(connection)
        insert_rows(connection, study_rows)
        refresh_marts(connection)
    return path


@pytest.fixture
def path(tmp_path, sound_study) -> Path:
    return shutil.copy(sound_study, tmp_path / "study.duckdb")


def _change(path: Path, statement: str) -> None:
    with duckdb.connect(path) as connection:
        connection.execute(statement)


@pytest.mark.slow
def test_a_sound_study_passes_every_check_and_has_data_docs(path, tmp_path):
    bars = RecordedBars()
    rows = gate_warehouse(path, tmp_path / "docs", run_id="run", open_bar=bars.open)
    queried, gated = bars.named("checks on the merged tables"), bars.named("Great Expectations")
    assert queried.done == queried.total == len(check_files()) + 1
    assert gated.done == gated.total == len(rows)
    assert {row.check_name for row in rows} == CHECK_NAMES
    assert [row.check_name for row in rows if not row.is_passed] == []
    assert {row.suite: row.row_count for row in rows if row.suite in ("episodes", "instances")} == {
        "episodes": 4,
        "instances": 2,
    }
    assert {row.run_id for row in rows} == {"run"}
    assert "episodes" in (tmp_path / "docs" / "index.html").read_text()


@pytest.mark.slow
def test_broken_study_names_offenders_and_an_unknown_episode(path, tmp_path):
    _change(path, "delete from episodes where episode_id = 'e-stateless'; delete from items")
    failed = {row.check_name: row for row in gate_warehouse(path, tmp_path / "docs") if not row.is_passed}
    assert set(failed) == {"episode_references_exist", "instance_solution_is_feasible"}
    # Three rows of an episode that is not there: one offender among four episodes, its own included.
    episode = failed["episode_references_exist"]
    assert (episode.row_count, episode.unexpected_count, json.loads(episode.unexpected_json)) == (4, 1, ["e-stateless"])
    assert json.loads(failed["instance_solution_is_feasible"].unexpected_json) == ["evaluation", "train"]


def test_every_gate_fails_where_its_rule_is_broken(path, tmp_path):
    _change(
        path,
        played_as_planned(instances={"count": 2})
        + """
        insert into steps from steps where episode_id = 'e-stateless' and step = 2;
        update runs set source = 'b';
        update episodes set
            score = 2, wall_seconds = -1, is_contract_verified = false, prompt_tokens = 31, turn_count = 3,
            instance_id = 'other'
        where episode_id = 'e-stateless';
        update episodes set instance_id = 'nowhere' where episode_id = 't-stateless';
        update steps set active_globals_before = ['x'] where episode_id = 'e-stateless';
        insert into instances select * replace ('train' as split, 1 as capacity) from instances
        where instance_id = 'evaluation';
        update training_examples set instance_id = 'other' where contract = 'stateless';
        update statistics set p_value = 2, run_id = 'nobody';
        update training_runs set final_loss = 'nan';
        delete from turns;
        """,
    )
    bars = RecordedBars()
    rows = gate_warehouse(path, tmp_path / "docs", run_id="run", open_bar=bars.open)
    assert {row.run_id for row in rows} == {"run"}
    queried = bars.named("checks on the merged tables")
    assert queried.done == queried.total == len(check_files()) + 1
    gated = bars.named("Great Expectations")
    assert gated.done == gated.total == len(rows)
    assert {row.check_name for row in rows if row.is_passed} == set()
    assert {row.check_name for row in rows} == CHECK_NAMES


def test_an_empty_warehouse_does_not_pass(tmp_path):
    rows = gate_warehouse(tmp_path, tmp_path / "docs")
    assert {row.run_id for row in rows} == {f"gate-{rows[0].checked_at:%Y%m%dT%H%M%S}"}
    (failed,) = [row for row in rows if not row.is_passed]
    assert failed.check_name == "table_rows_exist"
    # Families other than the knapsack have no items.
    assert sorted(json.loads(failed.unexpected_json)) == ["episodes", "instances", "runs", "steps", "turns"]


def test_check_that_cannot_run_is_an_error_without_verdict(path, tmp_path):
    _change(path, "alter table turns drop column prompt_tokens")
    with pytest.raises(QueryError, match="prompt_tokens"):
        gate_warehouse(path, tmp_path / "docs")


@pytest.mark.parametrize(
    "claimed", [{"unexpected_count": 0, "is_passed": True}, {"unexpected_count": 2}, {"is_passed": True}]
)
def test_backend_that_counts_unlike_the_sql_is_refused(make_row, claimed):
    frame = pl.DataFrame({"episode_id": ["a", "b"], "broken": [0, 1]})
    suite = Suite("episodes", frame, (Check(name="broken", kind="between", column="broken", maximum=0),), "episode_id")
    values = {"suite": "episodes", "check_name": "broken", "unexpected_count": 1, "is_passed": False}
    require_same_counts([suite], [make_row(CheckResultRow, **values)])
    with pytest.raises(UserError, match=r"broken of episodes: 1 offenders by SQL, .* by Great Expectations"):
        require_same_counts([suite], [make_row(CheckResultRow, **{**values, **claimed})])


@pytest.mark.slow
def test_a_plan_under_way_breaks_no_check_of_another_plan(path, tmp_path):
    _change(
        path,
        "insert into episodes by name select * replace ('under-way' as plan_digest, episode_id || '-2' as episode_id, "
        "if(runtime_contract = 'stateless', 'other instance', instance_id) as instance_id) from episodes",
    )

    def is_passed(check_name: str, plan_digest: str | None) -> bool:
        rows = gate_warehouse(path, tmp_path / f"docs-{plan_digest}", plan_digest=plan_digest)
        return next(row.is_passed for row in rows if row.check_name == check_name)

    assert not is_passed("instance_in_every_condition", "under-way")
    assert not is_passed("instance_in_every_condition", None)
    assert is_passed("instance_in_every_condition", "another plan")


def test_checks_of_a_plan_leave_other_plans_out(path):
    _change(
        path,
        "insert into episodes by name select * replace ('under-way' as plan_digest, episode_id || '-2' as episode_id, "
        "if(runtime_contract = 'stateless', 'other instance', instance_id) as instance_id) from episodes",
    )
    with Warehouse.open(path) as warehouse:
        broken = {}
        for plan in ("under-way", "another plan", None):
            offenders = gate._find_offenders(warehouse, plan, no_bar)
            broken[plan] = sorted(offenders["instance_id"]["instance_in_every_condition"]["instance_id"])
    assert broken[None] == broken["under-way"]
    assert "other instance" in broken[None]
    assert broken["another plan"] == []


def test_checks_come_by_their_names():
    names = [check.name for check in check_files()]
    assert names == sorted(names)
    assert {"table_keys_are_unique", "table_rows_trace_to_a_run", "episode_references_exist"} <= set(names)


def test_a_check_names_what_its_rows_are_about(path, monkeypatch):
    monkeypatch.setattr(gate, "check_files", lambda: [CheckFile("odd", "select 1 as colour")])
    told = "^sql/checks/odd.sql starts with 'colour'; choose from table_name, plan_digest, instance_id, episode_id, "
    with Warehouse.open(path) as warehouse, pytest.raises(ValueError, match=told):
        gate._find_offenders(warehouse, None, no_bar)
