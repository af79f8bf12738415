import hashlib
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from pathlib import Path

import pytest

from carryover.storage.errors import WarehouseError
from carryover.storage.warehouse.connection import open_for_writing, open_memory
from carryover.storage.warehouse.migrations import check_version, migrate, read_migrations
from carryover.storage.warehouse.reader import Warehouse

MIGRATIONS = Path(str(files("carryover.sql") / "migrations"))


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


def test_only_sql_files_are_migrations(tmp_path):
    (tmp_path / "0001_first.sql").write_text("select 1")
    (tmp_path / "0002_notes.md").write_text("Notes.")
    assert [migration.name for migration in read_migrations(tmp_path)] == ["first"]


def test_migrations_are_numbered_without_a_gap(tmp_path):
    assert [migration.name for migration in read_migrations()] == ["tables"]
    (tmp_path / "0002_second.sql").write_text("select 1")
    with pytest.raises(ValueError, match=r"not numbered 0001, 0002, ...: \['0002_second.sql'\]"):
        read_migrations(tmp_path)


def test_an_empty_database_becomes_a_warehouse_once():
    connection = open_memory()
    assert migrate(connection) == len(read_migrations())
    assert migrate(connection) == 0
    rows = connection.sql("from main.schema_migrations order by version").fetchall()
    assert [row[:3] for row in rows] == [
        (migration.version, migration.name, migration.digest) for migration in read_migrations()
    ]
    assert all(abs(datetime.now(UTC) - row[3]) < timedelta(minutes=5) for row in rows)
    text = "".join(migration.statements for migration in read_migrations())
    assert [migration.digest for migration in read_migrations()] == [hashlib.sha256(text.encode()).hexdigest()[:16]]


def test_a_newer_warehouse_is_refused(folder):
    connection = open_memory()
    newest = migrate(connection, folder)
    message = f"schema version {newest}, this Carryover knows {newest - 1}; upgrade Carryover"
    with pytest.raises(WarehouseError, match=message):
        migrate(connection)
    with pytest.raises(WarehouseError, match=message):
        check_version(connection)


def test_opening_a_newer_warehouse_names_file_and_upgrade(folder, tmp_path):
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


def test_tables_follow_the_row_models():
    connection = open_memory()
    migrate(connection)
    connection.execute("drop table main.claims")
    connection.execute("alter table main.errors drop column is_injected_missing_name")
    connection.execute("alter table main.steps alter column code set not null")
    connection.execute("alter table main.steps add column mood varchar default 'calm'")
    connection.execute("alter table main.steps alter column mood set not null")
    assert migrate(connection) == 0
    assert connection.sql("select count(*) from main.claims").fetchall() == [(0,)]
    connection.execute("insert into main.errors (episode_id, turn, error_index) values ('e', 1, 0)")
    assert connection.sql("select is_injected_missing_name from main.errors").fetchall() == [(False,)]
    connection.execute("insert into main.steps (episode_id, step, code, mood) values ('e', 1, null, null)")


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
