from importlib.resources import files
from pathlib import Path

import duckdb
import pytest

from storage.connection import open_for_writing, open_memory
from storage.errors import WarehouseError
from storage.merger import merge
from storage.migrations import check_version, migrate, read_migrations, value_of_older_rows
from storage.warehouse import Warehouse

MIGRATIONS = Path(str(files("sql") / "migrations"))


@pytest.fixture
def folder(tmp_path) -> Path:
    """The shipped migrations and one of tomorrow."""
    folder = tmp_path / "migrations"
    folder.mkdir()
    for source in MIGRATIONS.glob("*.sql"):
        (folder / source.name).write_text(source.read_text())
    newest = len(read_migrations())
    (folder / f"{newest + 1:04d}_tomorrow.sql").write_text("alter table main.steps add column mood varchar;")
    return folder


def test_migrations_are_numbered_without_a_gap(tmp_path):
    assert [migration.name for migration in read_migrations()][:2] == ["rows", "merging"]
    (tmp_path / "0002_second.sql").write_text("select 1")
    with pytest.raises(ValueError, match=r"not numbered 0001, 0002, ...: \['0002_second.sql'\]"):
        read_migrations(tmp_path)


def test_an_empty_database_becomes_a_warehouse_once():
    connection = open_memory()
    assert migrate(connection) == len(read_migrations())
    assert migrate(connection) == 0
    assert connection.sql("select version, name from main.schema_migrations order by version").fetchall() == [
        (migration.version, migration.name) for migration in read_migrations()
    ]


def test_a_newer_warehouse_is_refused(folder):
    connection = open_memory()
    newest = migrate(connection, folder)
    message = f"schema version {newest}, this Carryover knows {newest - 1}; upgrade Carryover"
    with pytest.raises(WarehouseError, match=message):
        migrate(connection)
    with pytest.raises(WarehouseError, match=message):
        check_version(connection)


def test_opening_a_newer_warehouse_names_the_file_and_what_to_upgrade(folder, tmp_path):
    path = tmp_path / "newer.duckdb"
    with open_for_writing(path) as connection:
        newest = migrate(connection, folder)
    message = f"newer.duckdb: .*schema version {newest}, this Carryover knows {newest - 1}; upgrade Carryover"
    with pytest.raises(WarehouseError, match=message):
        Warehouse.open(path)


def test_an_older_warehouse_is_not_read_but_upgraded(folder):
    connection = open_memory()
    newest = migrate(connection) + 1
    with pytest.raises(
        WarehouseError, match=rf"schema version {newest - 1}, this Carryover reads {newest}; `carryover merge`"
    ):
        check_version(connection, folder)
    assert migrate(connection, folder) == 1
    check_version(connection, folder)


def test_a_migration_changed_after_the_fact_is_noticed(folder):
    connection = open_memory()
    migrate(connection)
    (folder / "0001_rows.sql").write_text("create table main.steps (step bigint);")
    with pytest.raises(WarehouseError, match="migration 0001_rows was applied with other contents"):
        migrate(connection, folder)


def test_a_migration_that_fails_changes_nothing(folder):
    newest = len(read_migrations())
    connection = open_memory()
    migrate(connection)
    (folder / f"{newest + 2:04d}_wrong.sql").write_text("alter table main.nowhere add column a varchar;")
    with pytest.raises(WarehouseError, match="cannot upgrade the warehouse, nothing was changed"):
        migrate(connection, folder)
    check_version(connection)
    assert "mood" not in [row[0] for row in connection.sql("describe main.steps").fetchall()]


def test_a_database_of_something_else_is_refused():
    connection = open_memory()
    connection.execute("create table mine as select 1 as a")
    with pytest.raises(WarehouseError, match="not a Carryover warehouse"):
        migrate(connection)


OLD_ROWS = Path(__file__).parent / "old_rows"
"""Rows as each version could first hold them, written by hand; the newest version's are those of the present models."""

KEPT = {
    1: ("select episode_id, step, code from steps where episode_id = 'old' order by step",
        [("old", 1, "total = 0"), ("old", 2, "finish()")]),
    2: ("select bundle_id, landing_url from merged_bundles where run_id = 'first'", [("taken", "elsewhere")]),
    3: ("select assistant_text, is_replayed from turns where episode_id = 'old'", [("I look.", True)]),
    4: ("select claim, verdict, no_tolerance_reason, note from claims",
        [("matched", "overstated", "words", "kept sets differ")]),
    5: ("select table_name, row_key, bundle_id from latest_bundles where table_name = 'claims'",
        [("claims", ["S", "matched", "4.1.1"], "taken")]),
    6: ("select contract, other_contract, shared_count from training_overlaps", [("persistent", "stateless", 2)]),
    7: ("select distinct interval_kind from statistics where method like 'bootstrap BCa%'", [("BCa",)]),
    8: ("select step, state_event from steps where episode_id = 'foreign'", [(1, "unknown")]),
    9: ("select distinct agent from episodes where episode_id <> 'new'", [("study",)]),
}  # fmt: skip
"""What a warehouse of the present has of each version's rows."""


@pytest.fixture
def leave_behind(tmp_path):
    """A function that makes a file as a former version left it, with the rows of every version until then."""

    def leave(version: int) -> Path:
        path, old = tmp_path / "old.duckdb", tmp_path / "old"
        old.mkdir()
        for source in sorted(MIGRATIONS.glob("*.sql"))[:version]:
            (old / source.name).write_text(source.read_text())
        with duckdb.connect(path) as connection:
            migrate(connection, old)
            for number in range(1, version + 1):
                connection.execute((OLD_ROWS / f"{number:04d}.sql").read_text())
        return path

    return leave


def test_every_former_version_has_rows_of_its_own():
    former = range(1, len(read_migrations()))
    assert sorted(file.name for file in OLD_ROWS.iterdir()) == [f"{version:04d}.sql" for version in former]
    assert list(KEPT) == list(former)


@pytest.mark.parametrize("version", range(1, len(read_migrations())))
def test_the_rows_of_every_former_version_survive_the_upgrade(leave_behind, landing, make_episode, version):
    path = leave_behind(version)
    with pytest.raises(WarehouseError, match=rf"old.duckdb: the warehouse has schema version {version}, "):
        Warehouse.open(path)
    landing.write(make_episode("new", step_count=1), "run")
    merge(landing, path)
    with Warehouse.open(path) as warehouse:
        for query, rows in (KEPT[number] for number in range(1, version + 1)):
            assert warehouse.sql(query).rows() == rows
        assert warehouse.sql("select episode_id, code from steps where run_id = 'run'").rows() == [("new", "x = 1")]
        assert warehouse.sql("select run_id, plan_name from runs").rows() == [("first", "smoke")]


def test_a_value_that_only_some_older_rows_were_given_is_no_value_of_all():
    assert value_of_older_rows("steps", "state_event") is None
    assert "percentile" in (value_of_older_rows("statistics", "interval_kind") or "")


@pytest.mark.parametrize("version", [1, 7])
def test_an_interval_of_a_former_version_names_its_kind_after_the_upgrade(leave_behind, landing, version):
    path = leave_behind(version)
    merge(landing, path)
    with Warehouse.open(path) as warehouse:
        rows = warehouse.sql("select split_part(method, ',', 1), analysis, interval_kind from statistics").rows()
    assert sorted(rows, key=str) == [
        ("bootstrap BCa", "mean", "BCa"),
        ("bootstrap percentile", "mean", "percentile"),
        ("equivalence", "equivalence", "percentile"),
        ("equivalence", "equivalence", "t"),
        ("share of tests", "replicate_rejections", "exact binomial"),
        ("wilcoxon signed-rank", "wilcoxon", None),
    ]
